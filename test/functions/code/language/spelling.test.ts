import { expect, test } from "vitest";

import { closestName } from "../../../../functions/code/language/spelling.ts";

const names = ["account_id", "name", "page", "page_size"];

test.each([
  ["page_siez", "page_size"],
  ["accountId", "account_id"],
  ["ACCOUNT_ID", "account_id"],
  ["acc_id", undefined],
  ["ount_id", undefined],
  ["count_id", "account_id"],
  ["a_account_id", "account_id"],
  ["nam", "name"],
  ["namae", "name"],
  ["pege", "page"],
  ["pegi", undefined],
  ["id", undefined],
  ["", undefined],
  ["x".repeat(60_000), undefined],
])("the closest name to %s is %s", (word, meant) => {
  expect(closestName(word, names)).toBe(meant);
});

test("of several names the closest is taken, or the first of equally close names", () => {
  expect(closestName("pages", ["page_size", "pagers", "page", "pagesx"])).toBe("pagers");
  expect(closestName("workspaces.lists", ["workspaces.lis", "workspaces.list"])).toBe("workspaces.list");
});
