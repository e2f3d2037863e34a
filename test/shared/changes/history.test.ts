import { expect, test } from "vitest";

import { accountIds } from "../../../shared/accounts/account.ts";
import { readChangePages } from "../../../shared/changes/history.ts";
import { changeOf, listedAccount, newTable, record } from "../../support/changes.ts";

/** The number of rows on each page, and the states after the changes, in order. */
async function readAll(...[table, account, span]: Parameters<typeof readChangePages>) {
  const sizes: number[] = [];
  const states: string[] = [];
  for await (const page of readChangePages(table, account, span)) {
    sizes.push(page.length);
    states.push(...page.map(({ after }) => String(after)));
  }
  return { sizes, states };
}

test("a history longer than a page is read whole, each change once, oldest first", async () => {
  const table = await newTable();
  const account = await listedAccount(table);
  const startMs = Date.now();
  for (let batch = 0; batch < 11; batch++) {
    const changes = Array.from({ length: 95 }, (_, index) => changeOf("a", batch * 95 + index));
    await record(table, account, changes, new Date(startMs + batch));
  }
  const { sizes, states } = await readAll(table, account, { sinceMs: 0 });
  expect(states).toEqual(Array.from({ length: 1045 }, (_, n) => JSON.stringify({ n })));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
});

test("a span includes its first instant but not its last instant, and no change of another account", async () => {
  const table = await newTable();
  const [account, other] = [await listedAccount(table), await listedAccount(table)];
  const at = (n: number) => Date.UTC(2026, 0, 1) + n;
  for (const n of [1, 2, 3, 4]) await record(table, account, [changeOf("a", n)], new Date(at(n)));
  await record(table, other, [changeOf("b", 9)], new Date(at(2)));
  const { states } = await readAll(table, account, { sinceMs: at(2), untilMs: at(4) });
  expect(states).toEqual(['{"n":2}', '{"n":3}']);
});

test("all accounts are listed, oldest first", async () => {
  const table = await newTable();
  const made = [await listedAccount(table), await listedAccount(table), await listedAccount(table)];
  const listed: string[] = [];
  for await (const id of accountIds(table)) listed.push(id);
  expect(listed).toEqual(made);
});
