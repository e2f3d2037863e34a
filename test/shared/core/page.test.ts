import { describe, expect, test } from "vitest";

import { routes } from "../../../functions/routes.ts";
import { callRest } from "../../support/call.ts";
import { examples } from "../../support/examples.ts";
import { newAccount } from "../../support/world.ts";

const lists = routes.filter(({ query }) => "page" in query.shape);

describe.each(lists.map((route) => [route.name, route] as const))("%s", (_, route) => {
  test("answers a page past the end with no items and the total, up to the largest integer", async () => {
    const account = await newAccount();
    const example = (await examples[route.name]?.(account)) ?? {};
    const at = (page: number | string) => callRest(route, { ...example, page, page_size: 100 }, account.owner.token);
    const { total } = (await at(1)).body;
    for (const page of [2 ** 31, 1_000_000_001, Number.MAX_SAFE_INTEGER]) {
      expect((await at(page)).body, `page ${page}`).toMatchObject({ items: [], page, page_size: 100, total });
    }
    for (const page of ["9007199254740992", "99999999999999999999", "1e3", "1.5", "0", "-1"]) {
      expect((await at(page)).status, `page ${page}`).toBe(422);
    }
  });
});

test("this test finds the lists", () => expect(lists.length).toBeGreaterThan(15));
