import { expect, test } from "vitest";

import { isExhaustive, seed as sampleSeed } from "../support/sample.ts";
import { failoverBugs } from "./failover-protocol.ts";
import { simulateFailover } from "./failover.ts";

/** A caller that has no answer after this number of steps is stuck. */
const steps = 3_000;

test("no money is lost or doubled when the writer region of an account fails", { timeout: 60_000 }, async () => {
  const [from, schedules] = isExhaustive ? [1, 2_000] : [1 + Number(sampleSeed()), 100];
  const seen = new Set<string>();
  const trace = (line: string): void => {
    for (const event of ["east is the writer", "death fail-over", "death t", "west answer: committed", "east commit"])
      if (line.includes(event)) seen.add(event);
  };
  for (let seed = from; seed < from + schedules; seed++) {
    const { violation, tail } = await simulateFailover({ seed, steps, trace });
    expect(violation && `seed ${seed}: ${violation.message}\n${tail.join("\n")}`).toBeUndefined();
  }
  expect(seen.size).toBe(5);
});

test.each(failoverBugs)(
  "with the mistake %s a violation is found within 100 schedules",
  { timeout: 60_000 },
  async (bug) => {
    let found = 0;
    for (let seed = 1; seed <= 100 && found === 0; seed++) {
      if ((await simulateFailover({ seed, steps, bug })).violation) found = seed;
    }
    expect(found).toBeGreaterThan(0);
  },
);

test("the same seed makes the same schedule", async () => {
  const digestOf = async (seed: number) => (await simulateFailover({ seed, steps })).digest;
  expect(await digestOf(7)).toBe(await digestOf(7));
  expect(await digestOf(8)).not.toBe(await digestOf(7));
});
