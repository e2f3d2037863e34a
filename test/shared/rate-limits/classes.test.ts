import { expect, test } from "vitest";

import { limitClasses } from "../../../shared/rate-limits/classes.ts";

test("each class has a limit per minute and a limit at once, and says whether it is closed if the table fails", () => {
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
