import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { claiming, giveGroup, join, newGroup, statusOf } from "../../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../../support/entry-points.ts";
import { statusesOf } from "../../../../support/request.ts";
import { newAccount, newServiceAccount, newUser, type Account } from "../../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const remove = ({ id, owner }: Account, groupId: string, memberId: string) =>
    attempt("auth.groups.members.remove", { account_id: id, group_id: groupId, member_id: memberId }, owner);

  test("a removed member has lost the group's permissions by the next request, over REST and in code mode", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    const [user, program] = [newUser(), await newServiceAccount(account)];
    await join(account, group, user.id);
    await join(account, group, program.id, "service_account");
    for (const member of [user, program]) {
      const uses = () =>
        Promise.all(entryPoints.map((one) => through(one)("workspaces.list", { account_id: account.id }, member)));
      expect((await uses()).map(({ status }) => status)).toEqual([200, 200]);
      expect(await remove(account, group.id, member.id)).toEqual({ status: 200, body: {} });
      expect((await uses()).map(({ status }) => status)).toEqual([404, 404]);
      expect((await remove(account, group.id, member.id)).status).toBe(404);
    }
    expect((await attempt("accounts.list", {}, user)).body.total).toBe(0);
  });

  test("keeps the member's other memberships, and the permissions that the token claims", async () => {
    const account = await newAccount();
    const [one, two] = [await newGroup(account, "One"), await newGroup(account, "Two")];
    await giveGroup(account, one, "workspace.view");
    await giveGroup(account, two, "auth.manage");
    const user = claiming(one);
    await join(account, one, user.id);
    await join(account, two, user.id);
    await remove(account, one.id, user.id);
    expect([await statusOf(account, user), await statusOf(account, user, "auth/groups")]).toEqual([200, 200]);
    const plain = { ...user, token: newUser({ sub: user.id }).token };
    expect([await statusOf(account, plain), await statusOf(account, plain, "auth/groups")]).toEqual([403, 200]);
  });

  test("a member who is removed and added again is the newest member", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const [first, second] = [newUser(), newUser()];
    for (const { id } of [first, second]) await join(account, group, id);
    await remove(account, group.id, first.id);
    await join(account, group, first.id);
    const args = { account_id: account.id, group_id: group.id };
    const { body } = await attempt("auth.groups.members.list", args, account.owner);
    expect(body).toMatchObject({ total: 2, items: [{ subject_id: second.id }, { subject_id: first.id }] });
  });

  test("one of several concurrent removals succeeds, and the total falls by one", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const user = newUser();
    await join(account, group, user.id);
    await join(account, group, randomUUID());
    const answers = await Promise.all(Array.from({ length: 5 }, () => remove(account, group.id, user.id)));
    expect(statusesOf(answers)).toEqual([200, 404, 404, 404, 404]);
    const args = { account_id: account.id, group_id: group.id };
    expect((await attempt("auth.groups.members.list", args, account.owner)).body.total).toBe(1);
  });

  test("another account's group and member get the same 404 as missing ones", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [own, foreign] = [await newGroup(account, "Ours"), await newGroup(other, "Theirs")];
    const { id } = newUser();
    await join(other, foreign, id);
    const before = await storedOf(other);
    const missing = masked((await remove(account, randomUUID(), randomUUID())).body);
    expect((await remove(account, foreign.id, id)).status).toBe(404);
    expect(masked((await remove(account, foreign.id, id)).body)).toBe(missing);
    expect(masked((await remove(account, own.id, id)).body)).toBe(missing);
    expect(await storedOf(other)).toEqual(before);
  });
});
