import fc from "fast-check";
import { expect, test } from "vitest";

import { isFound } from "../../../../shared/mail/mailboxes/search.ts";

const ada = { local_part: "ada.l", first_name: "Zoë", last_name: "O’Neill", aliases: ["countess", "*"] };

test("every part of an address or of a name is found, in any case and composition", () => {
  const texts = [
    "ada.l@bücher.example",
    "ada.l@xn--bcher-kva.example",
    "countess@bücher.example",
    "countess@xn--bcher-kva.example",
    "zoë o’neill",
  ];
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.nat(40), fc.nat(40), (text, from, length) => {
      const part = text.slice(from, from + length + 1);
      // A part that is itself an address is looked up as an address.
      if (part === "" || /^[^@]+@[^@]+\.[^@.]+$/.test(part)) return;
      for (const written of [part, part.toUpperCase(), part.normalize("NFD")]) {
        expect(isFound(ada, "xn--bcher-kva.example", written), written).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
});

test("a letter whose capital is two characters is found in upper and lower case", () => {
  const holder = { ...ada, last_name: "Ma\u0390x" };
  for (const search of ["a\u0390x", "A\u03aa\u0301X"]) expect(isFound(holder, "example.com", search)).toBe(true);
});

test.each([
  ["ada.l@bücher.example", true],
  ["ADA.L@xn--bcher-kva.example.", true],
  ["Countess@bücher.example", true],
  ["*@bücher.example", true],
  ["ess@bücher.example", false],
  ["da.l@bücher.example", false],
  ["ada.l@example.com", false],
  ["ada.l@bucher.example", false],
  ["zoe", false],
  ["o'neill", false],
])("a search for %j finds the mailbox: %s", (search, found) => {
  expect(isFound(ada, "xn--bcher-kva.example", search)).toBe(found);
});
