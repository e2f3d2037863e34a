import { describe, expect, test } from "vitest";

import { asOwner, giveGroup, newGroup, type Group } from "../../../support/auth.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { newAccount, type Account } from "../../../support/world.ts";

async function withGroups(...names: string[]): Promise<{ account: Account; groups: Group[] }> {
  const account = await newAccount();
  const groups: Group[] = [];
  for (const name of names) groups.push(await newGroup(account, name));
  return { account, groups };
}

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const list = async ({ id, owner }: Account, page: object = {}) =>
    (await attempt("auth.groups.list", { account_id: id, ...page }, owner)).body;

  test("pages oldest first with an exact total, and a page past the end is empty", async () => {
    const { account, groups } = await withGroups("A", "B", "C", "D", "E");
    const ids = (body: { items: Group[] }) => body.items.map(({ id }) => id);
    expect(ids(await list(account, { page_size: 2 }))).toEqual(groups.slice(0, 2).map(({ id }) => id));
    expect(ids(await list(account, { page: 3, page_size: 2 }))).toEqual([groups[4]?.id]);
    expect(await list(account, { page: 4, page_size: 2 })).toEqual({ items: [], page: 4, page_size: 2, total: 5 });
    await asOwner(account, "DELETE", `groups/${groups[1]?.id}`);
    expect(await list(account, { page: 2, page_size: 2 })).toMatchObject({
      items: [{ id: groups[3]?.id }, { id: groups[4]?.id }],
      total: 4,
    });
  });

  test("shows each group as `get` does, even if its parent is on another page", async () => {
    const { account, groups } = await withGroups("Inner", "Outer");
    const [inner, outer] = groups;
    await asOwner(account, "PATCH", `groups/${inner?.id}`, { parent_id: outer?.id });
    await giveGroup(account, { id: outer?.id ?? "" }, "dns.view");
    const { items } = await list(account, { page_size: 1 });
    const alone = await attempt("auth.groups.get", { account_id: account.id, group_id: inner?.id }, account.owner);
    expect(items).toEqual([alone.body]);
    expect(items[0]).toMatchObject({
      path: "/Outer/Inner",
      permission_context: { resolved_capability_keys: ["dns.view"] },
    });
  });

  test("shows the groups of this account only", async () => {
    await withGroups("Theirs");
    expect(await list(await newAccount())).toEqual({ items: [], page: 1, page_size: 25, total: 0 });
  });

  test("refuses page 0, and a page size over 100", async () => {
    const account = await newAccount();
    for (const [name, value] of [
      ["page", 0],
      ["page_size", 101],
    ] as const) {
      expect((await list(account, { [name]: value })).detail).toMatchObject([{ loc: ["query", name] }]);
    }
  });
});
