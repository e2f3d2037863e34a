import fc from "fast-check";
import { expect, test } from "vitest";

import { daysBetween, plusDays } from "../../../shared/core/time.ts";
import type { PlanId } from "../../../shared/wallet/catalogue.ts";
import {
  firstDaysPrice,
  firstState,
  keepsPlanFrom,
  periodEnd,
  plannedAfter,
  planOn,
  withoutHistory,
  withPlan,
} from "../../../shared/wallet/state.ts";

const state = firstState("2026-01-10T23:59:59.999Z");
const anyPlan = fc.constantFrom<PlanId | null>("per_mailbox", "per_dedicated_ip", null);
const anyChanges = fc.array(fc.record({ plan_id: anyPlan, after: fc.integer({ min: 0, max: 90 }) }), { maxLength: 6 });

test("an account that was never billed is on the default plan from the day of its creation on", () => {
  expect(planOn(state, "2026-01-10")).toBe("per_mailbox");
  expect(planOn(state, "2026-01-09")).toBeNull();
  expect(state.accrue_from).toBe("2026-01-10");
});

test("a new plan holds from its first day on, earlier days keep their plans, and later planned changes are dropped", () => {
  fc.assert(
    fc.property(anyChanges, anyPlan, fc.integer({ min: 0, max: 90 }), (changes, plan_id, after) => {
      const before = changes.reduce(
        (one, { plan_id: id, after: days }) => withPlan(one, id, plusDays("2026-01-10", days)),
        state,
      );
      const from = plusDays("2026-01-10", after);
      const changed = withPlan(before, plan_id, from);
      for (const day of daysBetween("2026-01-10", "2026-05-01")) {
        expect(planOn(changed, day)).toBe(day < from ? planOn(before, day) : plan_id);
      }
      expect(plannedAfter(changed, from)).toBeUndefined();
      expect(keepsPlanFrom(changed, plan_id, from)).toBe(true);
    }),
  );
});

test("`withoutHistory` does not change the plan of a day that is not settled yet, or the price of a claim", () => {
  fc.assert(
    fc.property(anyChanges, fc.integer({ min: 0, max: 100 }), (changes, settled) => {
      const all = changes.reduce(
        (one, { plan_id, after }) => withPlan(one, plan_id, plusDays("2026-01-10", after)),
        state,
      );
      const late = { ...all, settle_from: plusDays("2026-01-10", settled) };
      for (const day of daysBetween(late.settle_from, "2026-06-01")) {
        expect(planOn(withoutHistory(late), day)).toBe(planOn(late, day));
      }
      // The latest day that can be settled is today.
      for (const day of daysBetween(plusDays(late.settle_from, -1), "2026-06-01")) {
        expect(firstDaysPrice(withoutHistory(late), day, "USD")).toBe(firstDaysPrice(late, day, "USD"));
      }
    }),
  );
});

test.for([
  ["2026-01-10", "2026-01-31"],
  ["2026-01-31", "2026-01-31"],
  ["2028-02-01", "2028-02-29"],
  ["2026-12-01", "2026-12-31"],
] as const)("the period of %s ends on %s", ([settle_from, end]) => {
  expect(periodEnd({ settle_from })).toBe(end);
});
