import fc from "fast-check";
import { expect, test } from "vitest";

import { AddressPattern } from "../../../../shared/mail/forwarding/pattern.ts";
import { AliasText } from "../../../../shared/mail/mailboxes/aliases.ts";
import { LocalPart, localPartFault, MailboxRef, readAddress } from "../../../../shared/mail/mailboxes/local-part.ts";
import { anyString } from "../../../support/text.ts";

const anyText = fc.oneof(
  anyString(80),
  fc.stringMatching(/^[a-zA-Z0-9._@+*" \u212a-]{0,70}$/u),
  fc
    .array(fc.constantFrom("\ud800", "@", ".", "xn--", "a", "..", "é", " "), { maxLength: 12 })
    .map((all) => all.join("")),
);

const rule = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

test("a local part is accepted exactly if it follows the rule once it is trimmed and in lower case", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const local = text.trim().toLowerCase();
      // The Kelvin sign becomes a `k` in lower case.
      const isRight = rule.test(local) && !local.includes("..") && !text.includes("\u212a");
      expect(localPartFault(text) === undefined).toBe(isRight);
      const parsed = LocalPart.safeParse(text);
      expect(parsed.success ? parsed.data : undefined).toBe(isRight ? local : undefined);
    }),
    { numRuns: 1_000 },
  );
});

test("`readAddress` never throws, and reads its own result as the same address", () => {
  fc.assert(
    fc.property(
      anyText,
      fc.option(fc.constantFrom("example.com", "BÜCHER.example.", "xn--bcher-kva.example")),
      (text, domain) => {
        const given = domain === null ? text : `${text}@${domain}`;
        const read = readAddress(given);
        if (!read) return;
        const spelled = `${read.local}@${read.domain}`;
        expect(spelled.isWellFormed()).toBe(true);
        expect(readAddress(spelled)).toEqual(read);
        expect(read.domain).toMatch(/^[a-z0-9.-]+$/);
        expect(read.local).not.toContain("@");
      },
    ),
    { numRuns: 1_000 },
  );
});

test.each([
  ["ada@example.com", { local: "ada", domain: "example.com" }],
  [" ADA@EXAMPLE.COM. ", { local: "ada", domain: "example.com" }],
  ["ada@bücher.example", { local: "ada", domain: "xn--bcher-kva.example" }],
  ["*@example.com", { local: "*", domain: "example.com" }],
  ["*+x!@example.com", { local: "*+x!", domain: "example.com" }],
  ["a b@example.com", { local: "a b", domain: "example.com" }],
  ["ada+x\r\nBcc:bob@example.com", undefined],
  ["ada@example.com\r\n", undefined],
  ["\nada@example.com", undefined],
  ["ada+\u0000@example.com", undefined],
  ["ada+\t@example.com", undefined],
  ["ada+\u007f@example.com", undefined],
  [`${"a".repeat(64)}@example.com`, { local: "a".repeat(64), domain: "example.com" }],
  [`${"a".repeat(65)}@example.com`, undefined],
  ["\ud800@example.com", undefined],
  ["ada@exam\udc00ple.com", undefined],
  ["ada@localhost", undefined],
  ["ada@192.0.2.1", undefined],
  ["ada@[192.0.2.1]", undefined],
  ["a@b@example.com", undefined],
  ["@example.com", undefined],
  ["ada@", undefined],
  ["ada", undefined],
  ["", undefined],
])("%j is read as %j", (given, read) => {
  expect(readAddress(given)).toEqual(read);
});

test("the schemas of a mailbox's reference and of an alias throw for no text, and keep a valid text unchanged", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      for (const schema of [MailboxRef, AliasText]) {
        const { success, data } = schema.safeParse(text);
        expect(success ? schema.parse(data) : undefined).toBe(data);
      }
    }),
    { numRuns: 500 },
  );
});

test("an alias and a pattern with the Kelvin sign are refused or keep it, and never become an address with a k", () => {
  for (const schema of [LocalPart, AliasText, AddressPattern])
    expect(schema.safeParse("\u212aate").success).toBe(false);
  expect(AddressPattern.safeParse("\u212a*").success).toBe(false);
  expect(AliasText.parse(" \u212aATE@Example.com")).toBe("\u212aate@example.com");
});

test("an id of a mailbox becomes lower case", () => {
  expect(MailboxRef.parse("0193A4F8-7B1C-8D2E-9F30-4A5B6C7D8E9F")).toBe("0193a4f8-7b1c-8d2e-9f30-4a5b6c7d8e9f");
});
