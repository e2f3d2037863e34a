import fc from "fast-check";
import { expect, test } from "vitest";

import { valueOn, withFormer, type Former } from "../../../shared/core/former.ts";
import { daysBetween, plusDays, type Day } from "../../../shared/core/time.ts";

const first = "2026-01-01";

test("a day has the value at its end, for at least 60 days, and at most one value is kept for each day", () => {
  const Steps = fc.array(fc.record({ days: fc.integer({ min: 0, max: 20 }), value: fc.integer() }), { maxLength: 30 });
  fc.assert(
    fc.property(Steps, (steps) => {
      let [today, present]: [Day, { value: number }] = [first, { value: 0 }];
      let former: Former<{ value: number }>[] | undefined;
      const ends = new Map<Day, number>();
      for (const { days, value } of steps) {
        const next = plusDays(today, days);
        for (const day of daysBetween(today, plusDays(next, -1))) ends.set(day, present.value);
        today = next;
        former = withFormer(former, present, today);
        present = { value };
      }
      for (const [day, value] of ends)
        if (day >= plusDays(today, -60)) expect(valueOn(day, present, former).value).toBe(value);
      expect(valueOn(today, present, former).value).toBe(present.value);
      expect(former?.length ?? 0).toBeLessThanOrEqual(61);
    }),
  );
});
