import { randomUUID } from "node:crypto";

import { describe, expect, onTestFinished, test, vi } from "vitest";

import { capabilities } from "../../../../shared/auth/capabilities.ts";
import {
  asOwner,
  claiming,
  giveGroup,
  join,
  makeOwner,
  newGroup,
  newWorkspace,
  statusOf,
} from "../../../support/auth.ts";
import { entryPoints, leftOf, masked, storedOf, through } from "../../../support/entry-points.ts";
import { request, statusesOf } from "../../../support/request.ts";
import { newAccount, newMember, newServiceAccount, newUser, type Account, type User } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const remove = ({ id }: Account, groupId: string, caller: Pick<User, "token">) =>
    attempt("auth.groups.delete", { account_id: id, group_id: groupId }, caller);

  test("the permissions of a deleted group are gone from the next request on, for claimed and explicit membership", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    const [member, program] = [newUser(), await newServiceAccount(account)];
    await join(account, group, member.id);
    await join(account, group, program.id, "service_account");
    const callers = [claiming(group), member, program];
    const statuses = () => Promise.all(callers.map((caller) => statusOf(account, caller)));
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(await remove(account, group.id, account.owner)).toEqual({ status: 200, body: {} });
    expect(await statuses()).toEqual([404, 404, 404]);
    expect((await remove(account, group.id, account.owner)).status).toBe(404);
  });

  test("refuses to delete a group with subgroups, and changes nothing", async () => {
    const account = await newAccount();
    const outer = await newGroup(account, "Outer");
    const inner = await newGroup(account, "Inner", outer);
    await giveGroup(account, outer, "workspace.view");
    await join(account, outer, randomUUID());
    const before = await storedOf(account);
    const refused = await remove(account, outer.id, account.owner);
    expect(refused.body).toMatchObject({ status: 409, code: "group_not_empty", subgroup_ids: [inner.id] });
    expect(await storedOf(account)).toEqual(before);
    expect((await remove(account, inner.id, account.owner)).status).toBe(200);
    expect((await remove(account, outer.id, account.owner)).status).toBe(200);
  });

  test("deletes a group with 20 members and 30 grants, with all these memberships and grants", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Large");
    const workspace = await newWorkspace(account, "One");
    const members = Array.from({ length: 20 }, () => newUser());
    for (const { id } of members) await join(account, group, id);
    for (const key of capabilities.slice(1, 16)) {
      await giveGroup(account, group, key);
      await giveGroup(account, group, key, workspace);
    }
    const accountsOf = async (user: User) => (await attempt("accounts.list", {}, user)).body.total as number;
    expect(await Promise.all(members.map(accountsOf))).toEqual(Array(20).fill(1));
    expect((await remove(account, group.id, account.owner)).status).toBe(200);
    expect(await Promise.all(members.map(accountsOf))).toEqual(Array(20).fill(0));
    const grants = { account_id: account.id, subject_id: group.id };
    expect((await attempt("auth.authorizations.list", grants, account.owner)).body).toEqual([]);
    const all = await attempt("auth.authorizations.list", { ...grants, include_revoked: true }, account.owner);
    expect(all.body).toHaveLength(30);
    expect(all.body.every(({ revoked_at }: { revoked_at: unknown }) => typeof revoked_at === "string")).toBe(true);
    // The workspace can still be deleted after its grants were revoked.
    const args = { account_id: account.id, workspace_id: workspace };
    expect((await attempt("workspaces.delete", args, account.owner)).status).toBe(200);
  }, 60_000);

  test("one of several concurrent deletions succeeds", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    for (const key of capabilities.slice(0, 5)) await giveGroup(account, group, key);
    for (let index = 0; index < 10; index++) await join(account, group, randomUUID());
    const answers = await Promise.all(Array.from({ length: 4 }, () => remove(account, group.id, account.owner)));
    expect(statusesOf(answers)).toEqual([200, 404, 404, 404]);
  });

  test("a grant that is given at the same moment does not outlive the group", async () => {
    const account = await newAccount();
    for (let round = 0; round < 5; round++) {
      const group = await newGroup(account, "Support");
      const give = (capability_key: string) =>
        attempt(
          "auth.authorizations.grant",
          {
            account_id: account.id,
            grant_kind: "capability",
            subject_type: "group",
            subject_id: group.id,
            capability_key,
          },
          account.owner,
        );
      const [removed, ...given] = await Promise.all([
        remove(account, group.id, account.owner),
        ...capabilities.slice(0, 6).map(give),
      ]);
      expect(removed.status).toBe(200);
      for (const { status } of given) expect([201, 422]).toContain(status);
      const args = { account_id: account.id, subject_id: group.id };
      expect((await attempt("auth.authorizations.list", args, account.owner)).body).toEqual([]);
    }
  });

  test("a grant that is revoked at the same moment does not stop the deletion", async () => {
    const account = await newAccount();
    for (let round = 0; round < 5; round++) {
      const group = await newGroup(account, "Support");
      const { id } = await giveGroup(account, group, "dns.view");
      const args = { account_id: account.id, grant_id: id };
      const revoke = () => attempt("auth.authorizations.revoke", args, account.owner);
      const [removed, revoked] = await Promise.all([remove(account, group.id, account.owner), revoke()]);
      expect(removed.status).toBe(200);
      expect([200, 404]).toContain(revoked.status);
    }
  });

  test("only owners can delete a group that owns the account", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Owners");
    await makeOwner(account, group.id, "group");
    const manager = await newMember(account, { capability: "auth.manage" });
    const before = await storedOf(account);
    const refused = await remove(account, group.id, manager);
    expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["account_owner"] });
    expect(await storedOf(account)).toEqual(before);
    expect((await remove(account, group.id, account.owner)).status).toBe(200);
    expect(await asOwner(account, "GET", `authorizations?subject_id=${group.id}`)).toEqual([]);
  });

  test("another account's group gets the same 404 as a missing one, and stays", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    await newGroup(account, "Ours");
    const foreign = await newGroup(other, "Theirs");
    const before = await storedOf(other);
    const hidden = await remove(account, foreign.id, account.owner);
    const missing = await remove(account, randomUUID(), account.owner);
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked(missing.body));
    expect(await storedOf(other)).toEqual(before);
  });

  test("frees the name, and leaves other groups as they are", async () => {
    const account = await newAccount();
    const [group, other] = [await newGroup(account, "Support"), await newGroup(account, "Sales")];
    await giveGroup(account, other, "workspace.view");
    await remove(account, group.id, account.owner);
    expect(await statusOf(account, claiming(other))).toBe(200);
    expect((await newGroup(account, "support")).id).not.toBe(group.id);
    expect((await asOwner(account, "GET", "groups")).total).toBe(2);
  });
});

test("when the time of the request is over, the deletion of a large group is a 503, and repeats delete the rest", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Large");
  const members = Array.from({ length: 20 }, () => newUser());
  for (const { id } of members) await join(account, group, id);
  for (const key of capabilities.slice(1, 26)) await giveGroup(account, group, key);
  // Each reading of the clock is a minute later. So the time of a request is over when the request first checks it.
  let atMs = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (atMs += 60_000));
  onTestFinished(() => clock.mockRestore());
  const path = `/v1/public/accounts/${account.id}/auth/groups/${group.id}`;
  const { token } = account.owner;
  const { etag = "" } = (await request("GET", path, { token })).headers;
  // The removed members and grants do not change the entity tag, so the same `If-Match` holds for all repeats.
  const remove = () => request("DELETE", path, { token, headers: { "if-match": etag } });
  const answers = [await remove()];
  expect(answers[0]).toMatchObject({ status: 503, body: { code: "busy" }, headers: { "retry-after": "1" } });
  while (answers.at(-1)?.status === 503 && answers.length < 10) answers.push(await remove());
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 200]);
  // The head of the empty list of members stays. No other group gets the id.
  expect((await leftOf(account, group.id)).filter((key) => !/#(?:HEAD|HOLES#\d+)$/.test(key))).toEqual([]);
});
