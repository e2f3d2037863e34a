import { argon2 as argon2Callback, createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

import * as z from "zod";

import type { Secrets } from "../../providers/secrets/secrets.ts";
import type { Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import type { Login } from "./mailbox.ts";

const argon2 = promisify(argon2Callback);

/** OWASP's second choice for Argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const hashBytes = 32;

/** No characters that look alike in some fonts: no 0, o and O, and no 1, l and I. */
const alphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const passwordLength = 20;

/** Generates a password of 20 random characters: about 116 bits. */
export const newPassword = (): string =>
  Array.from({ length: passwordLength }, () => alphabet.charAt(randomInt(alphabet.length))).join("");

const derive = (password: string, nonce: Buffer, { memory, passes, parallelism }: typeof cost): Promise<Buffer> =>
  argon2("argon2id", {
    message: Buffer.from(password.normalize("NFC")),
    nonce,
    memory,
    passes,
    parallelism,
    tagLength: hashBytes,
  });

const unpadded = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");

/** The Argon2id hash (RFC 9106) of a password that somebody chose, or of a short code, as a PHC string. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, cost);
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`;
}

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/**
 * A hash that matches no password. It has the usual cost, so that a check against this hash takes as long as a check
 * against a real hash.
 */
export const nobodysHash = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

/**
 * Whether a password matches an Argon2id hash. Takes equally long for a match and a mismatch. Throws if the hash has
 * another form.
 */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [, memory = "", passes = "", parallelism = "", salt = "", expected = ""] = phc.exec(hash) ?? [];
  if (expected === "") throw new Error("A stored password hash is not in the PHC format.");
  const numbers = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const found = await derive(password, Buffer.from(salt, "base64"), numbers);
  return timingSafeEqual(found, Buffer.from(expected, "base64"));
}

const macOf = (key: Buffer, password: string): Buffer =>
  createHmac("sha256", key).update(password.normalize("NFC")).digest();

/**
 * A 64-bit tag. By this tag, a login finds the only hash to check among several hashes. The tag is keyed with the
 * account's own key. Without this key, nobody can test passwords against the tag.
 */
export const passwordTag = (key: Buffer, password: string): string => macOf(key, password).toString("hex").slice(0, 16);

const keyedPrefix = "$hmac-sha256$";

/**
 * The hash of a password that `newPassword` generated: HMAC-SHA-256 (RFC 2104) under the account's own key. A fast hash
 * is enough, because nobody can try 2^116 passwords. A password that somebody chose needs `hashPassword`.
 */
export const keyedHash = (key: Buffer, password: string): string => keyedPrefix + unpadded(macOf(key, password));

/** Whether `keyedHash` made a hash. */
export const isKeyed = (hash: string): boolean => hash.startsWith(keyedPrefix);

/** Whether a password matches a hash that `keyedHash` made. Takes equally long for a match and a mismatch. */
export const isKeyedPassword = (key: Buffer, password: string, hash: string): boolean => {
  const expected = Buffer.from(hash.slice(keyedPrefix.length), "base64");
  const found = macOf(key, password);
  return expected.length === found.length && timingSafeEqual(found, expected);
};

/*
 * Access patterns
 *   the sealed key for an account's tags and keyed hashes   ACCOUNT#<id> / LOGIN_KEY
 */
const loginKeyRow = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "LOGIN_KEY" });

const StoredLoginKey = z.object({ sealed: z.string() });

const keptAccounts = 1_000;
const kept = new Map<string, Promise<Buffer>>();

/** The services for making and opening passwords. */
export type LoginServices = { table: Table; secrets: Secrets };

/**
 * The key for an account's tags and keyed hashes. The key is made at its first use. A process keeps the opened keys of
 * up to 1,000 accounts. Throws 503 if the key service does not answer.
 */
export function loginKey(accountId: string, work: LoginServices): Promise<Buffer> {
  const known = kept.get(accountId);
  if (known) return known;
  const opened = openOrMake(accountId, work);
  kept.set(accountId, opened);
  opened.catch(() => kept.delete(accountId));
  const [oldest] = kept.keys();
  if (kept.size > keptAccounts && oldest !== undefined) kept.delete(oldest);
  return opened;
}

async function openOrMake(accountId: string, { table, secrets }: LoginServices): Promise<Buffer> {
  const context = { account_id: accountId, purpose: "login_key" };
  const found = await table.get(loginKeyRow(accountId), StoredLoginKey);
  if (found) return Buffer.from(await secrets.open(found.sealed, context), "base64");
  const made = randomBytes(32);
  const sealed = await secrets.seal(made.toString("base64"), context);
  const put = await table.attempt({ put: { ...loginKeyRow(accountId), sealed }, if: "absent" });
  if (put.done) return made;
  // Another request created the key meanwhile.
  const theirs = await table.get(loginKeyRow(accountId), StoredLoginKey);
  if (!theirs) throw new Error("The account's login key was created meanwhile, and is gone.");
  return Buffer.from(await secrets.open(theirs.sealed, context), "base64");
}

type MailboxAddress = { account_id: string; domain_id: string; local_part: string };

/**
 * The encryption context of a mailbox's sealed password: its account and its address, which no other mailbox has while
 * this mailbox exists. The address is hashed because AWS logs the context.
 */
export const sealContext = ({ account_id, domain_id, local_part }: MailboxAddress): Record<string, string> => ({
  account_id,
  mailbox: createHash("sha256").update(`${domain_id}/${local_part}`).digest("hex"),
  purpose: "mailbox_password",
});

/**
 * Generates a password. Returns its hash, its tag, and a sealed copy that is revealed once. Throws 503 if the key
 * service does not answer.
 */
export async function newLogin(mailbox: MailboxAddress, work: LoginServices): Promise<Login> {
  const password = newPassword();
  const [sealed, key] = await Promise.all([
    work.secrets.seal(password, sealContext(mailbox)),
    loginKey(mailbox.account_id, work),
  ]);
  return { hash: keyedHash(key, password), sealed, tag: passwordTag(key, password) };
}
