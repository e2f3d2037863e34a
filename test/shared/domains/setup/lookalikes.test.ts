import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { readName } from "../../../../shared/domains/name.ts";
import {
  lookalikesOf,
  lookalikeWrite,
  lookalikeRemoval,
  skeletonOf,
} from "../../../../shared/domains/setup/lookalikes.ts";
import { testTable } from "../../../support/world.ts";

const nameOf = (spelling: string): string => {
  const read = readName(spelling);
  if ("fault" in read) throw new Error(read.fault);
  return read.name;
};

test.each([
  ["paypal.com", "раураl.com"],
  ["paypal.com", "paypa1.com"],
  ["google.com", "g00gle.com"],
  ["modern.com", "rnodern.com"],
  ["vivid.com", "ⅴivid.com"],
  ["cafe\u0301.com", "café.com"],
])("%s and %s look alike", (one, other) => {
  expect(skeletonOf(nameOf(one))).toBe(skeletonOf(nameOf(other)));
});

test.each([
  ["example.com", "example.org"],
  ["paypal.com", "paypals.com"],
  ["cafe.com", "café.com"],
])("%s and %s do not look alike", (one, other) => {
  expect(skeletonOf(nameOf(one))).not.toBe(skeletonOf(nameOf(other)));
});

test("`lookalikesOf` returns the names of the account that look like a name, and no removed names or other accounts' names", async () => {
  const table = testTable();
  const [account, other] = [randomUUID(), randomUUID()];
  const names = ["paypal.com", nameOf("раураl.com"), "paypa1.com"];
  const write = (writes: Parameters<typeof table.attempt>[0][]) =>
    table.commit(async () => ({ value: undefined, writes }));
  await write(names.map((name) => lookalikeWrite(account, name)));
  expect((await lookalikesOf(table, account, "paypal.com")).toSorted()).toEqual(names.slice(1).toSorted());
  expect(await lookalikesOf(table, other, "paypal.com")).toEqual([]);
  await write([lookalikeRemoval(account, "paypa1.com")]);
  expect(await lookalikesOf(table, account, "paypal.com")).toEqual([names[1]]);
});
