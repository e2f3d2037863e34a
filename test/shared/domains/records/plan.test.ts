import { expect, expectTypeOf, test } from "vitest";

import type { ChangePlan, SoleWrites } from "../../../../shared/changes/recorder.ts";
import { parsedOf, planRecords } from "../../../../shared/domains/records/plan.ts";
import { recordsOf, StoredRecord } from "../../../../shared/domains/records/stored-record.ts";
import { systemWriter } from "../../../../shared/domains/setup/work.ts";
import { readRows } from "../../../../shared/table/ranked-list.ts";
import type { Write } from "../../../../shared/table/writes.ts";
import { newScene } from "./scene.ts";

const shown = ({ id, name, value }: StoredRecord): string => `${id} ${name} ${value}`;

test("one transaction adds, updates and removes records of a zone, and makes one new revision of the zone", async () => {
  const { table, accountId, zone, add, records, now } = await newScene();
  const [first, second] = (await add({ name: "a" }, { name: "b" })) as [StoredRecord, StoredRecord];
  const before = await zone();
  await systemWriter({ table, now }, accountId).commit(async () => {
    const { id: _, ...stored } = parsedOf(second);
    const edit = {
      zone: await zone(),
      added: [{ name: "c", type: "A" as const, value: "192.0.2.3", ttl: 60 }],
      updated: [{ before: second, after: { ...stored, name: "d" } }],
      removed: [first],
    };
    const { sole, changes } = await planRecords(table, accountId, [edit], now());
    return { value: undefined, writes: [], sole, changes };
  });
  const after = await zone();
  expect((await records()).map(shown)).toEqual(["3 c 192.0.2.3", "2 d 192.0.2.1"]);
  const { rows, total } = await readRows(table, recordsOf(accountId), { skip: 0, take: 10 });
  expect(rows.map((row) => shown(StoredRecord.parse(row)))).toEqual(["2 d 192.0.2.1", "3 c 192.0.2.3"]);
  expect(total).toBe(2);
  expect(after.revision).toBe(before.revision + 1);
  expect(after.dirty).toEqual(expect.arrayContaining(["a A", "b A", "c A", "d A"]));
});

test("the types allow no second plan of records in a transaction", () => {
  expectTypeOf<SoleWrites>().not.toExtend<Write>();
  expectTypeOf<SoleWrites[]>().not.toExtend<ChangePlan<unknown>["sole"]>();
  expectTypeOf<SoleWrites>().not.toExtend<Iterable<Write>>();
});
