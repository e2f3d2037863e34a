import { describe, expect, test } from "vitest";

import { roles } from "../../../../shared/auth/capabilities.ts";
import { asOwner } from "../../../support/auth.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { newAccount, type Account } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const list = async ({ id, owner }: Account, page: object = {}) =>
    (await attempt("auth.roles.list", { account_id: id, ...page }, owner)).body;

  test("shows the built-in roles first, then the account's own roles, oldest first", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    for (const key of ["zebra", "ape"]) {
      await asOwner(account, "POST", "roles", { key, name: key, capability_keys: ["dns.view"] });
    }
    const { items, total } = await list(account, { page_size: 100 });
    const builtIn = Object.entries(roles).map(([key, held]) => ({ key, capability_keys: held, is_custom: false }));
    expect(items).toMatchObject([...builtIn, { key: "zebra", is_custom: true }, { key: "ape", is_custom: true }]);
    expect(total).toBe(items.length);
    expect((await list(other)).total).toBe(builtIn.length);
  });

  test("pages with an exact total", async () => {
    const account = await newAccount();
    await asOwner(account, "POST", "roles", { key: "support", name: "Support", capability_keys: ["dns.view"] });
    const { total } = await list(account);
    const last = await list(account, { page: total, page_size: 1 });
    expect(last).toMatchObject({ items: [{ key: "support" }], total, page: total, page_size: 1 });
    expect((await list(account, { page: total + 1, page_size: 1 })).items).toEqual([]);
  });
});
