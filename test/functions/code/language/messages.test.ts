import { expect, test } from "vitest";

import { clip } from "../../../../functions/code/language/messages.ts";

test("a long name in a message is cut without half a character", () => {
  expect(clip(`${"x".repeat(59)}😀`)).toBe(`${"x".repeat(59)}\ufffd…`);
});
