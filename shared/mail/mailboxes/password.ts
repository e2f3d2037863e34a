import { argon2 as argon2Callback, createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const argon2 = promisify(argon2Callback);

/** OWASP's second choice for Argon2id: 19 MiB, two passes, one lane. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 };
const saltBytes = 16;
const hashBytes = 32;

/** Nothing that looks like something else in any font: no 0 and O, no 1, l and I. */
const alphabet = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const passwordLength = 20;

/** A password of 20 random characters: some 116 bits. */
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

/** The Argon2id hash of a password (RFC 9106), as a PHC string. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, cost);
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`;
}

const phc = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** A hash that no password has, of the usual cost: checking against it takes as long as against a real one. */
export const nobodysHash = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Whether a password is the one of a hash. Takes as long for one that is as for one that is not. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [, memory = "", passes = "", parallelism = "", salt = "", expected = ""] = phc.exec(hash) ?? [];
  if (expected === "") throw new Error("A stored password hash is not one.");
  const numbers = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const found = await derive(password, Buffer.from(salt, "base64"), numbers);
  return timingSafeEqual(found, Buffer.from(expected, "base64"));
}

/**
 * What finds the one hash worth checking among several, under a key of the account's own: without the key it tells
 * nothing of the password. 64 bits.
 */
export const passwordTag = (key: Buffer, password: string): string =>
  createHmac("sha256", key).update(password.normalize("NFC")).digest("hex").slice(0, 16);
