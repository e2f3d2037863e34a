import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { claiming, giveGroup, join, makeOwner, newGroup, newWorkspace, statusOf } from "../../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../../support/entry-points.ts";
import {
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type Account,
  type User,
} from "../../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const add = ({ id }: Account, groupId: string, subjectId: string, caller: Pick<User, "token">, type = "user") => {
    const args = { account_id: id, group_id: groupId, subject_id: subjectId, subject_type: type };
    return attempt("auth.groups.members.add", args, caller);
  };

  test("users and service accounts have the permissions of the group from the next request on", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    const [user, program] = [newUser(), await newServiceAccount(account)];
    for (const [member, type] of [
      [user, "user"],
      [program, "service_account"],
    ] as const) {
      expect(await statusOf(account, member)).toBe(404);
      const { status, body } = await add(account, group.id, member.id, account.owner, type);
      expect(status).toBe(201);
      expect(body).toEqual({
        group_id: group.id,
        subject_id: member.id,
        subject_type: type,
        added_at: expect.stringMatching(/\.\d{3}Z$/),
      });
      expect(await statusOf(account, member)).toBe(200);
      expect((await attempt("accounts.list", {}, member)).body.total).toBe(1);
    }
  });

  test("explicit members and members by the token's claim hold the same permissions, also those of parent groups", async () => {
    const account = await newAccount();
    const outer = await newGroup(account, "Outer");
    const inner = await newGroup(account, "Inner", outer);
    const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
    await newWorkspace(account, "Three");
    await giveGroup(account, outer, "workspace.view", one);
    await giveGroup(account, inner, "workspace.view", two);
    const [insider, outsider] = [newUser(), newUser()];
    await add(account, inner.id, insider.id, account.owner);
    await add(account, outer.id, outsider.id, account.owner);
    const seen = async (caller: User) => {
      const { body } = await attempt("workspaces.list", { account_id: account.id }, caller);
      return [body.total, body.items.map(({ id }: { id: string }) => id)];
    };
    for (const caller of [insider, claiming(inner), claiming(inner, outer)]) {
      expect(await seen(caller)).toEqual([2, [one, two]]);
    }
    // The permissions of a group hold in the groups inside it, not in its parent.
    for (const caller of [outsider, claiming(outer)]) expect(await seen(caller)).toEqual([1, [one]]);
  });

  test("permissions by claim and by explicit membership add up", async () => {
    const account = await newAccount();
    const [claimed, explicit] = [await newGroup(account, "Claimed"), await newGroup(account, "Explicit")];
    await giveGroup(account, claimed, "workspace.view");
    await giveGroup(account, explicit, "auth.manage");
    const user = claiming(claimed);
    expect(await statusOf(account, user, "auth/groups")).toBe(403);
    await add(account, explicit.id, user.id, account.owner);
    expect([await statusOf(account, user), await statusOf(account, user, "auth/groups")]).toEqual([200, 200]);
  });

  test("a caller cannot add anybody, not even themselves, to a group with permissions that the caller lacks", async () => {
    const account = await newAccount();
    const workspace = await newWorkspace(account, "One");
    const top = await newGroup(account, "Top");
    const strong = await newGroup(account, "Strong", top);
    const [narrow, owners] = [await newGroup(account, "Narrow"), await newGroup(account, "Owners")];
    await giveGroup(account, top, "billing.manage");
    await giveGroup(account, strong, "dns.manage");
    await giveGroup(account, narrow, "ip.assign", workspace);
    await makeOwner(account, owners.id, "group");
    const manager = await newMember(account, { capability: "auth.manage" }, { capability: "dns.manage" });
    const program = await newServiceAccount(account);
    const before = await storedOf(account);
    for (const [group, missing] of [
      [strong, ["billing.manage"]],
      [top, ["billing.manage"]],
      [narrow, ["ip.assign"]],
      [owners, ["account_owner"]],
    ] as const) {
      for (const [id, type] of [
        [manager.id, "user"],
        [randomUUID(), "user"],
        [program.id, "service_account"],
      ] as const) {
        const refused = await add(account, group.id, id, manager, type);
        expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing });
      }
    }
    expect(await storedOf(account)).toEqual(before);
    expect(await statusOf(account, manager)).toBe(403);
    expect((await add(account, strong.id, manager.id, await newSuperAdmin())).status).toBe(201);
  });

  test("a caller can add members to a group if the caller holds the group's permissions", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const workspace = await newWorkspace(account, "One");
    await giveGroup(account, group, "dns.view", workspace);
    const scope = { type: "workspace" as const, id: workspace };
    const manager = await newMember(account, { capability: "auth.manage" }, { role: "dns_manager", scope });
    expect((await add(account, group.id, randomUUID(), manager)).status).toBe(201);
  });

  test("adding the same member several times at once makes one membership with one `added_at`", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const { id } = newUser();
    const answers = await Promise.all(Array.from({ length: 6 }, () => add(account, group.id, id, account.owner)));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(new Set(answers.map(({ body }) => body.added_at)).size).toBe(1);
    const listed = await attempt(
      "auth.groups.members.list",
      { account_id: account.id, group_id: group.id },
      account.owner,
    );
    expect(listed.body).toMatchObject({ total: 1, items: [answers[0]?.body] });
  });

  test("different users who are added at the same moment all become members", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const ids = Array.from({ length: 10 }, () => randomUUID());
    const answers = await Promise.all(ids.map((id) => add(account, group.id, id, account.owner)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    const args = { account_id: account.id, group_id: group.id };
    expect((await attempt("auth.groups.members.list", args, account.owner)).body.total).toBe(10);
  });

  test("another account's group gets the same 404 as a missing group, and another account's service account the same 422", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [own, foreign] = [await newGroup(account, "Ours"), await newGroup(other, "Theirs")];
    const program = await newServiceAccount(other);
    const before = [await storedOf(account), await storedOf(other)];
    const id = randomUUID();
    const pairs = [
      [404, await add(account, foreign.id, id, account.owner), await add(account, id, id, account.owner)],
      [
        422,
        await add(account, own.id, program.id, account.owner, "service_account"),
        await add(account, own.id, id, account.owner, "service_account"),
      ],
    ] as const;
    for (const [status, hidden, missing] of pairs) {
      expect(hidden.status).toBe(status);
      if (status === 422)
        expect(hidden.body.detail).toMatchObject([{ loc: ["body", "subject_id"], type: "not_found" }]);
      expect(masked(hidden.body)).toBe(masked(missing.body));
    }
    expect([await storedOf(account), await storedOf(other)]).toEqual(before);
  });

  test("a revoked service account cannot be added", async () => {
    const account = await newAccount();
    const [group, program] = [await newGroup(account, "Support"), await newServiceAccount(account)];
    const args = { account_id: account.id, service_account_id: program.id };
    await attempt("auth.service_accounts.revoke", args, account.owner);
    const { body } = await add(account, group.id, program.id, account.owner, "service_account");
    expect(body.detail).toMatchObject([{ loc: ["body", "subject_id"], type: "not_found" }]);
  });

  test.each([
    [{ subject_type: "group" }, "subject_type", /user.*service_account/],
    [{ subject_id: "x" }, "subject_id", /UUID/],
    [{ subject_type: undefined }, "subject_type", /./],
  ])("refuses %j at its place", async (wrong, name, msg) => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const all = {
      account_id: account.id,
      group_id: group.id,
      subject_id: randomUUID(),
      subject_type: "user",
      ...wrong,
    };
    const args = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const { status, body } = await attempt("auth.groups.members.add", args, account.owner);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", name], msg: expect.stringMatching(msg) }]);
  });
});

test("a member needs no claim in the token, and another account's group with the same name gives nothing", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const user = newUser();
  await join(account, await newGroup(account, "Support"), user.id);
  await giveGroup(other, await newGroup(other, "Support"), "workspace.view");
  expect([await statusOf(account, user), await statusOf(other, user)]).toEqual([403, 404]);
});
