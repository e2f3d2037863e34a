import fc from "fast-check";
import { expect, test } from "vitest";

import {
  hashPassword,
  isKeyed,
  isKeyedPassword,
  isPassword,
  keyedHash,
  newPassword,
  nobodysHash,
  passwordTag,
} from "../../../../shared/mail/mailboxes/password.ts";
import { cheapHash } from "../../../support/mailboxes.ts";
import { anyString } from "../../../support/text.ts";

const phc = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

test("a new password has 20 characters without those that look alike, and all new passwords are different", () => {
  const made = Array.from({ length: 500 }, newPassword);
  for (const password of made) expect(password).toMatch(/^[a-km-np-zA-HJ-NP-Z2-9]{20}$/);
  expect(new Set(made).size).toBe(made.length);
  // The chance that 10,000 draws miss a certain one of the 56 characters is 10^-78.
  expect(new Set(made.join("")).size).toBe(56);
});

test("a hash contains its parameters, has its own salt, and matches only its password", async () => {
  const [first, second] = [await hashPassword("pass word"), await hashPassword("pass word")];
  for (const hash of [first, second, nobodysHash]) expect(hash).toMatch(phc);
  expect(first).not.toBe(second);
  expect([await isPassword("pass word", first), await isPassword("pass word", second)]).toEqual([true, true]);
  for (const other of ["pass  word", "Pass word", "pass word ", ""]) expect(await isPassword(other, first)).toBe(false);
});

test("a password matches only its own hash, in any Unicode composition", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", maxLength: 40 }),
      fc.string({ unit: "grapheme", maxLength: 40 }),
      async (password, other) => {
        const hash = cheapHash(password);
        expect(await isPassword(password.normalize("NFD"), hash)).toBe(true);
        expect(await isPassword(other, hash)).toBe(other.normalize("NFC") === password.normalize("NFC"));
      },
    ),
    { numRuns: 60 },
  );
});

test.each([
  "",
  "correct horse",
  nobodysHash.replace("argon2id", "argon2i"),
  nobodysHash.slice(0, -1),
  `${nobodysHash}A`,
  nobodysHash.replace("v=19", "v=16"),
])("a stored text that is not a hash causes an error, and does not count as a wrong password: %s", async (hash) => {
  await expect(isPassword("any", hash)).rejects.toThrow("A stored password hash is not in the PHC format.");
});

test("no password matches the hash that stands for a missing password", async () => {
  for (const password of ["", "A", "password"]) expect(await isPassword(password, nobodysHash)).toBe(false);
});

test("a tag belongs to its password, in any Unicode composition, and to its account's key", () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  expect(passwordTag(key, "pässword")).toMatch(/^[0-9a-f]{16}$/);
  expect(passwordTag(key, "pa\u0308ssword")).toBe(passwordTag(key, "pässword"));
  expect(passwordTag(key, "pässword")).not.toBe(passwordTag(other, "pässword"));
  fc.assert(
    fc.property(anyString(), anyString(), (one, two) => {
      expect(passwordTag(key, one) === passwordTag(key, two)).toBe(
        Buffer.from(one.normalize("NFC")).equals(Buffer.from(two.normalize("NFC"))),
      );
    }),
    { numRuns: 200 },
  );
});

test("a keyed hash belongs to its password and its account's key, and is not read as another kind of hash", () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  fc.assert(
    fc.property(anyString(), anyString(), (one, two) => {
      const hash = keyedHash(key, one);
      expect(hash).toMatch(/^\$hmac-sha256\$[A-Za-z0-9+/]{43}$/);
      expect([isKeyed(hash), isKeyedPassword(key, one.normalize("NFD"), hash)]).toEqual([true, true]);
      expect(isKeyedPassword(other, one, hash)).toBe(false);
      expect(isKeyedPassword(key, two, hash)).toBe(
        Buffer.from(one.normalize("NFC")).equals(Buffer.from(two.normalize("NFC"))),
      );
    }),
    { numRuns: 200 },
  );
  const hash = keyedHash(key, "secret");
  for (const broken of [hash.slice(0, -2), "$hmac-sha256$", "", nobodysHash]) {
    expect(isKeyedPassword(key, "secret", broken)).toBe(false);
  }
  expect([isKeyed(nobodysHash), isKeyed("")]).toEqual([false, false]);
});
