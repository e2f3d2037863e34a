import { expect, test } from "vitest";

import { ReadOnlyReason } from "../../../shared/core/environment.ts";

test("a reason stops changes, and an empty one does not", () => {
  expect(ReadOnlyReason.parse(" Back at 15:00. ")).toBe("Back at 15:00.");
  for (const none of [undefined, "", "  "]) expect(ReadOnlyReason.parse(none)).toBeUndefined();
});

test.each(["false", "no", "0", "off", "true", "Yes"])("%s is no reason: it could mean either", (text) => {
  expect(() => ReadOnlyReason.parse(text)).toThrow(/Write the reason/);
});
