import { expect, test } from "vitest";

import { clip } from "../../../../functions/code/language/messages.ts";

test("a long name in a message is cut, and a half of a character at the end becomes U+FFFD", () => {
  expect(clip(`${"x".repeat(59)}😀`)).toBe(`${"x".repeat(59)}\ufffd…`);
});
