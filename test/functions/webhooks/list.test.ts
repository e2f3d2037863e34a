import { expect, test } from "vitest";

import { call } from "../../support/webhooks.ts";
import { newAccount } from "../../support/world.ts";

test("lists webhooks oldest first with an exact total, without secrets and deleted webhooks", async () => {
  const account = await newAccount();
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) {
    const body = { url: `https://example.com/${index}`, event_types: ["*"] };
    ids.push((await call(account, "POST", "", body)).body.id);
  }
  const page = async (query: string) => (await call(account, "GET", `?${query}`)).body;
  const second = await page("page=2&page_size=2");
  expect(second).toMatchObject({ items: [{ id: ids[2] }, { id: ids[3] }], page: 2, page_size: 2, total: 5 });
  expect(JSON.stringify(second)).not.toMatch(/secret"|sealed|whsec_/);
  await call(account, "DELETE", `/${ids[2]}`);
  expect(await page("page=2&page_size=2")).toMatchObject({ items: [{ id: ids[3] }, { id: ids[4] }], total: 4 });
  expect(await page("page=9")).toEqual({ items: [], page: 9, page_size: 25, total: 4 });
});
