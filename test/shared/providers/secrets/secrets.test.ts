import { randomBytes } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { SecretsEnvironment, secretsOf } from "../../../../shared/providers/secrets/factory.ts";

const newKey = () => randomBytes(32).toString("base64");
const secrets = secretsOf({ SECRETS_KEY: newKey() });
const context = { account_id: "a1", webhook_id: "w1" };

test("every sealed text can be opened", async () => {
  const names = fc.dictionary(fc.string(), fc.string());
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1 }), names, async (plaintext, context) => {
      expect(await secrets.open(await secrets.seal(plaintext, context), context)).toBe(plaintext);
    }),
  );
});

test("the order of the names in the context does not matter", async () => {
  const sealed = await secrets.seal("hush", { a: "1", b: "2", 10: "x", 9: "y" });
  expect(await secrets.open(sealed, { 9: "y", b: "2", 10: "x", a: "1" })).toBe("hush");
});

test.each([
  [{}],
  [{ account_id: "a2", webhook_id: "w1" }],
  [{ account_id: "a1" }],
  [{ ...context, more: "" }],
  [{ account_id: "w1", webhook_id: "a1" }],
  [{ account_id: 'a1","webhook_id":"w1' }],
])("a sealed text cannot be opened with the context %j", async (other) => {
  const sealed = await secrets.seal("hush", context);
  await expect(secrets.open(sealed, other)).rejects.toThrow("cannot be opened");
});

test("a sealed text cannot be opened with another key", async () => {
  const sealed = await secrets.seal("hush", context);
  await expect(secretsOf({ SECRETS_KEY: newKey() }).open(sealed, context)).rejects.toThrow("cannot be opened");
});

test("a sealed text cannot be opened if a byte was changed or its end was cut off", async () => {
  const sealed = await secrets.seal("hush", context);
  const bytes = Buffer.from(sealed.slice(5), "base64");
  const changed = [...bytes.keys()].map((index) => {
    const copy = Buffer.from(bytes);
    copy[index] = (copy[index] ?? 0) ^ 1;
    return copy;
  });
  const cut = [...bytes.keys()].map((length) => bytes.subarray(0, length));
  for (const broken of [...changed, ...cut]) {
    await expect(secrets.open(`aes1:${broken.toString("base64")}`, context)).rejects.toThrow("cannot be opened");
  }
});

test.each(["", "aes1:", "aes2:AAAA", "kms1:AAAA", "hush"])("%j cannot be opened", async (text) => {
  await expect(secrets.open(text, context)).rejects.toThrow("cannot be opened");
});

test("the same secret gives a different sealed text each time, and no sealed text shows the secret", async () => {
  const texts = await Promise.all(Array.from({ length: 100 }, () => secrets.seal("hush hush hush", context)));
  expect(new Set(texts.map((text) => text.slice(5, 21))).size).toBe(100);
  for (const text of texts) {
    expect(text).toMatch(/^aes1:[A-Za-z0-9+/]+=*$/);
    expect(Buffer.from(text.slice(5), "base64").includes("hush")).toBe(false);
  }
});

test("a secret can have 1 to 4,096 bytes, as in KMS", async () => {
  const longest = "ü".repeat(2_048);
  expect(await secrets.open(await secrets.seal(longest, context), context)).toBe(longest);
  await expect(secrets.seal(`${longest}a`, context)).rejects.toThrow("1 to 4096 bytes");
  await expect(secrets.seal("", context)).rejects.toThrow("1 to 4096 bytes");
});

test("without a key, only the first use fails, and names the missing setting", async () => {
  const none = secretsOf({});
  await expect(none.seal("hush", context)).rejects.toThrow("SECRETS_KEY_ID (a KMS key) or SECRETS_KEY");
  await expect(none.open("aes1:AAAA", context)).rejects.toThrow("SECRETS_KEY_ID (a KMS key) or SECRETS_KEY");
});

test("the environment has a KMS key, or a key of 32 bytes, or none, but not both", () => {
  const key = newKey();
  expect(SecretsEnvironment.parse({ SECRETS_KEY: key }).SECRETS_KEY).toBe(key);
  expect(SecretsEnvironment.parse({ SECRETS_KEY_ID: "alias/x" }).SECRETS_KEY_ID).toBe("alias/x");
  expect(SecretsEnvironment.parse({})).not.toHaveProperty("SECRETS_KEY");
  expect(() => SecretsEnvironment.parse({ SECRETS_KEY: key, SECRETS_KEY_ID: "alias/x" })).toThrow("either");
});

test.each([16, 31, 33])("a key of %i bytes is refused without being shown", (bytes) => {
  const key = randomBytes(bytes).toString("base64");
  expect(() => SecretsEnvironment.parse({ SECRETS_KEY: key })).toThrow(/Write 32 bytes as base64/);
  expect(() => SecretsEnvironment.parse({ SECRETS_KEY: key })).not.toThrow(key);
});
