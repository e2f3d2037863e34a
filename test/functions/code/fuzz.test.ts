import { expect, test } from "vitest";

import { fuzzCode } from "../../fuzz/code.ts";

test("3,000 programs, valid and damaged ones, throw no error except errors of the language", async () => {
  const found = await fuzzCode(3_000, 20_261_121);
  expect(found.parsed).toBeGreaterThan(300);
  expect(found.ran).toBeGreaterThan(200);
});
