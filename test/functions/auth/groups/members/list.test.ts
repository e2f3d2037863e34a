import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { claiming, giveGroup, join, newGroup, statusOf, named } from "../../../../support/auth.ts";
import { entryPoints, masked, through } from "../../../../support/entry-points.ts";
import { request } from "../../../../support/request.ts";
import { newAccount, newServiceAccount, newUser, type Account } from "../../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const list = ({ id, owner }: Account, groupId: string, page: object = {}) =>
    attempt("auth.groups.members.list", { account_id: id, group_id: groupId, ...page }, owner);

  test("pages explicit members in the order they were added, with an exact total", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const members = [];
    for (let index = 0; index < 4; index++) members.push(named(await join(account, group, newUser().id)));
    const program = await newServiceAccount(account);
    members.push(named(await join(account, group, program.id, "service_account"), "Test program"));
    expect((await list(account, group.id)).body).toEqual({ items: members, page: 1, page_size: 25, total: 5 });
    expect((await list(account, group.id, { page: 3, page_size: 2 })).body).toEqual({
      items: [members[4]],
      page: 3,
      page_size: 2,
      total: 5,
    });
    expect((await list(account, group.id, { page: 9 })).body).toMatchObject({ items: [], total: 5 });
  });

  test("names the members whose tokens the account has seen", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const user = newUser({ email: "ada@example.com", given_name: "Ada", family_name: "Lovelace" });
    await join(account, group, user.id);
    const body = { category: "other", title: "Hello", description: "It works." };
    await request("POST", `/v1/public/accounts/${account.id}/feedback`, { token: user.token, body });
    expect((await list(account, group.id)).body.items).toMatchObject([
      { subject_email: "ada@example.com", subject_name: "Ada Lovelace" },
    ]);
  });

  test("does not list members by claim, nor members of child groups", async () => {
    const account = await newAccount();
    const outer = await newGroup(account, "Outer");
    const inner = await newGroup(account, "Inner", outer);
    await giveGroup(account, outer, "workspace.view");
    await join(account, inner, randomUUID());
    expect(await statusOf(account, claiming(outer))).toBe(200);
    expect((await list(account, outer.id)).body).toMatchObject({ items: [], total: 0 });
  });

  test("does not list a revoked service account", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const program = await newServiceAccount(account);
    await join(account, group, program.id, "service_account");
    const args = { account_id: account.id, service_account_id: program.id };
    await attempt("auth.service_accounts.revoke", args, account.owner);
    expect((await list(account, group.id)).body).toMatchObject({ items: [], total: 0 });
  });

  test("another account's group and a deleted group get the same 404 as a missing one", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [own, foreign] = [await newGroup(account, "Ours"), await newGroup(other, "Theirs")];
    await join(account, own, randomUUID());
    await attempt("auth.groups.delete", { account_id: account.id, group_id: own.id }, account.owner);
    const missing = masked((await list(account, randomUUID())).body);
    for (const { id } of [own, foreign]) {
      const hidden = await list(account, id);
      expect(hidden.status).toBe(404);
      expect(masked(hidden.body)).toBe(missing);
    }
  });
});
