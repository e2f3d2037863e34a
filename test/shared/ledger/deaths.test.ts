import { expect, test } from "vitest";

import type { Ledger } from "../../../shared/ledger/ledger.ts";
import type { Operation } from "../../../shared/ledger/movement.ts";
import {
  createMemoryStore,
  everything,
  openMemoryTable,
  type Fault,
  type MemoryStore,
  type Step,
} from "../../support/memory-table.ts";
import { hold, operate, spend, topUp } from "./scene.ts";

const ledger: Ledger = { partition: "TEST", limited: ["wallet"] };
const now = new Date("2026-03-01T12:00:00.000Z");
const before = [topUp("first", 100), hold("h", 70, now)];

const asked: [string, Operation[]][] = [
  ["a transfer", [spend("a", 30)]],
  ["a hold", [hold("b", 30)]],
  ["a capture", [{ kind: "capture", id: "h" }]],
  ["a capture in part", [{ kind: "capture", id: "h", amount: 1 }]],
  ["a void", [{ kind: "void", id: "h" }]],
  ["an expiry", [{ kind: "expire", id: "h" }]],
  [
    "several operations in one plan",
    [topUp("a", 5), { kind: "capture", id: "h", amount: 60 }, hold("b", 45), { kind: "void", id: "b" }],
  ],
];

async function storeBefore(): Promise<MemoryStore> {
  const store = createMemoryStore();
  await operate(openMemoryTable(store), ledger, before, now);
  return store;
}

/** A step that does `happens` at the await number `place`, counted from 0. */
const at = (place: number, happens: Step, seen: { steps: number }): Step => {
  return async (point, faults) => (seen.steps++ === place ? happens(point, faults) : undefined);
};

const never = () => new Promise<undefined>(() => undefined);
const failing =
  (fault: Fault): Step =>
  async (_, faults) =>
    faults.includes(fault) ? fault : undefined;

const mishaps: [string, Step][] = [
  ["dies", never],
  ["is throttled", failing("throttled")],
  ["meets a conflict", failing("conflict")],
  ["gets no answer", failing("lost")],
];

const cases = asked.flatMap(([what, operations]) =>
  mishaps.map(([how, mishap]) => [what, how, operations, mishap] as const),
);

test.for(cases)("%s whose process %s at any await is done once if it is repeated", async ([, , operations, mishap]) => {
  const undisturbed = await storeBefore();
  await operate(openMemoryTable(undisturbed), ledger, operations, now);
  let places = 0;
  for (; ; places++) {
    const store = await storeBefore();
    const seen = { steps: 0 };
    const disturbed = operate(openMemoryTable(store, { step: at(places, mishap, seen) }), ledger, operations, now);
    disturbed.catch(() => undefined);
    await new Promise(setImmediate);
    await operate(openMemoryTable(store), ledger, operations, now);
    expect(everything(store)).toEqual(everything(undisturbed));
    if (seen.steps <= places) break;
  }
  expect(places).toBeGreaterThanOrEqual(4);
});
