import { expect, test } from "vitest";

import { fuzzCode } from "../../fuzz/code.ts";

test("thousands of programs, sound and spoiled, end in the language's own errors only", async () => {
  const found = await fuzzCode(3_000, 20_261_121);
  expect(found.parsed).toBeGreaterThan(300);
  expect(found.ran).toBeGreaterThan(200);
});
