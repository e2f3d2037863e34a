import { createHash, randomInt } from "node:crypto";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^27 is more than 2^160. */
const length = 27;

/** A key that is shown once, and its SHA-256 in hexadecimal, which is published and kept. */
export function newSetupKey(): { key: string; hash: string } {
  const characters = Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length)));
  const key = `sk_${characters.join("")}`;
  return { key, hash: createHash("sha256").update(key).digest("hex") };
}

/** Whether a published text is the hash of a key, alone or after `sha256=`. */
export const isProof = (text: string, hash: string): boolean =>
  text
    .trim()
    .replace(/^sha256=/i, "")
    .toLowerCase() === hash;
