import { expect, test } from "vitest";

import { ReadOnlyReason } from "../../../shared/core/environment.ts";

test("a reason is a text without outer spaces, and an empty text is no reason", () => {
  expect(ReadOnlyReason.parse(" Back at 15:00. ")).toBe("Back at 15:00.");
  for (const none of [undefined, "", "  "]) expect(ReadOnlyReason.parse(none)).toBeUndefined();
});

test.each(["false", "no", "0", "off", "true", "Yes"])(
  "%s is refused as a reason, because it could mean yes or no",
  (text) => {
    expect(() => ReadOnlyReason.parse(text)).toThrow(/Write the reason/);
  },
);
