import fc from "fast-check";
import { expect, test } from "vitest";

import { weakness } from "../../../../shared/mail/credentials/credential.ts";
import { newPassword } from "../../../../shared/mail/mailboxes/password.ts";
import { anyString } from "../../../support/text.ts";

const repeats = "The password is one text repeated. Choose another";
const sequence = "The password is a sequence of neighbouring characters. Choose another";
const few = "Use at least 6 different characters";
const untypable = "Use only characters that can be typed, no control characters";

test.each([
  ["correct horse battery", undefined],
  ["Tr0ub4dor&3-more", undefined],
  ["πρόσβαση 2026 όλα", undefined],
  ["aaaaaaaaaaaa", few],
  ["abababababab", few],
  ["aaaaabbbbbcd", few],
  ["e\u0301e\u0301e\u0301éééééé", few],
  ["password1password1", repeats],
  ["abcdefabcdef", repeats],
  ["🦊🐻🐼🐨🐯🦁🦊🐻🐼🐨🐯🦁", repeats],
  ["abcdefghijkl", sequence],
  ["zyxwvutsrqponm", sequence],
  ["0123456789012", sequence],
  ["aabbccddeeffgg", sequence],
  ["correct\u0000horse battery", untypable],
  ["correct horse battery\u007f", untypable],
  ["correct horse battery\udc00", untypable],
])("the weakness of the password %j is: %s", (password, message) => {
  const type = message === untypable ? "value_error" : "password_too_simple";
  expect(weakness(password)).toEqual(message === undefined ? undefined : { type, message });
});

test("a generated password is never weak, and `weakness` throws for no text", () => {
  for (let count = 0; count < 300; count++) expect(weakness(newPassword())).toBeUndefined();
  fc.assert(
    fc.property(anyString(256), (text) => {
      expect(["string", "undefined"]).toContain(typeof weakness(text)?.message);
    }),
    { numRuns: 300 },
  );
});
