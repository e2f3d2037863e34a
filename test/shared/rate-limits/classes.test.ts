import { expect, test } from "vitest";

import { limitClasses } from "../../../shared/rate-limits/classes.ts";

test("each class has its limits a minute and at once, and classes of guesses and letters are closed when the table fails", () => {
  const told = Object.entries(limitClasses).map(([name, one]) => [name, one.perMinute, one.burst, one.whenTableFails]);
  expect(told).toEqual([
    ["default", 600, 100, "open"],
    ["sensitive", 60, 30, "closed"],
    ["search", 120, 40, "open"],
    ["outbound", 30, 10, "closed"],
    ["login_pair", 30, 30, "closed"],
    ["login_address", 60, 60, "closed"],
    ["login_source", 300, 150, "closed"],
  ]);
});
