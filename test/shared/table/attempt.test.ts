import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { TableClient } from "../../../shared/table/client.ts";
import { openTable } from "../../../shared/table/table.ts";
import { throughSdk } from "../../support/table-calls.ts";
import { testTable } from "../../support/world.ts";

const newKey = () => ({ PK: `TEST#${randomUUID()}`, SK: "s" });

describe("one conditional write", () => {
  test("is done, and returns the new attributes of an update, or the whole item", async () => {
    const [table, key] = [testTable(), newKey()];
    expect(await table.attempt({ put: { ...key, n: 1, of: "a" } })).toEqual({ done: true, updated: {} });
    const update = { update: key, add: { n: 2 }, set: { of: "b" }, if: { n: 1 } };
    expect(await table.attempt(update)).toEqual({ done: true, updated: { n: 3, of: "b" } });
    const whole = { ...key, n: 4, of: "b" };
    expect(await table.attempt({ update: key, add: { n: 1 }, returns: "item" })).toEqual({
      done: true,
      updated: whole,
    });
    expect(await table.attempt({ delete: key, if: { n: 4 } })).toEqual({ done: true, updated: {} });
  });

  test("is not done if its condition fails, and returns the stored strings and numbers", async () => {
    const [table, key] = [testTable(), newKey()];
    await table.attempt({ put: { ...key, n: 1, of: "a", is: true, list: [1] } });
    for (const write of [
      { put: key, if: "absent" as const },
      { update: key, set: { n: 2 }, if: { n: 2 } },
      { delete: key, if: { n: 2 } },
    ]) {
      expect(await table.attempt(write)).toEqual({ done: false, found: { ...key, n: "1", of: "a" } });
    }
    expect(await table.attempt({ update: newKey(), set: { n: 2 }, if: "present" })).toEqual({ done: false, found: {} });
  });

  test("stores no undefined attribute, and no undefined member of an attribute", async () => {
    const [table, key] = [openTable(new TableClient(), process.env["TABLE_NAME"] ?? ""), newKey()];
    await throughSdk(() => table.attempt({ put: { ...key, n: 1, of: undefined, in: { a: undefined, b: [1] } } }));
    await throughSdk(() => table.attempt({ update: key, set: { is: undefined, n: 2 } }));
    expect(await throughSdk(() => table.getMany([key]))).toEqual([{ ...key, n: 2, in: { b: [1] } }]);
  });

  test("is refused if it is only a check, and throws other errors of the table", async () => {
    await expect(testTable().attempt({ check: newKey(), if: "present" })).rejects.toThrow(
      "A check alone is not a write.",
    );
    const client = { send: async () => Promise.reject(new Error("ours")) };
    await expect(openTable(client as never, "t").attempt({ put: newKey() })).rejects.toThrow("ours");
  });
});
