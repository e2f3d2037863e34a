import { expect, test } from "vitest";

import { warmUpDay, warmUpLimits } from "../../../shared/dedicated-ips/warm-up.ts";

const at = (time: string) => warmUpDay({ activated_at: "2026-11-20T23:30:00.000Z" }, new Date(time));

test("the daily limit grows with each UTC day since the activation, and ends after 28 days", () => {
  const ends_at = "2026-12-18T00:00:00.000Z";
  expect(at("2026-11-20T23:59:59Z")).toEqual({ day: 1, days: 28, daily_limit: 50, ends_at });
  expect(at("2026-11-21T00:00:00Z")).toEqual({ day: 2, days: 28, daily_limit: 100, ends_at });
  expect(at("2026-12-17T23:59:59Z")).toEqual({ day: 28, days: 28, daily_limit: 100_000, ends_at });
  expect(at(ends_at)).toBeUndefined();
  expect(at("2036-01-01T00:00:00Z")).toBeUndefined();
  expect(warmUpLimits.every((limit, index) => index === 0 || limit > (warmUpLimits[index - 1] ?? 0))).toBe(true);
});

test("an IP without `activated_at` has no limit", () => {
  expect(warmUpDay({}, new Date())).toBeUndefined();
});
