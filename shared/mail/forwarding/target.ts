import { createHash } from "node:crypto";

import * as z from "zod";

import type { Key } from "../../table/writes.ts";
import { readAddress } from "../mailboxes/local-part.ts";

const longestAddress = 254;

/** Special-use top-level names (RFC 6761 and its registry) that exist only inside a network. */
const inside = new Set(["local", "localhost", "internal", "onion", "alt", "arpa"]);

/**
 * Explains why a text is not a valid mail address (RFC 5321 §4.1.2, without quoted local parts); undefined if it is.
 */
function faultOf(given: string): string | undefined {
  if (given.trim().length > longestAddress) return `An address has ${longestAddress} characters at most`;
  const read = readAddress(given);
  if (!read) return "Write one address, such as ada@example.com";
  if (/[^\x21-\x7e]/.test(read.local)) return "The part before the @ can have only ASCII characters";
  // The characters % and ! are left out, because old mail servers relay mail by them.
  if (!/^[a-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[a-z0-9#$&'*+/=?^_`{|}~-]+)*$/.test(read.local)) {
    return "The part before the @ has a character or a dot that an address cannot have there";
  }
  const last = read.domain.split(".").at(-1) ?? "";
  if (inside.has(last)) return `Names under .${last} are not on the public internet`;
  return `${read.local}@${read.domain}`.length > longestAddress
    ? `An address has ${longestAddress} characters at most`
    : undefined;
}

/** The schema of an address for mail; its output is the canonical spelling: lower case, the domain in A-labels. */
export const TargetEmail = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const message = faultOf(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .overwrite((given) => {
    const read = readAddress(given);
    return read ? `${read.local}@${read.domain}` : given;
  })
  .meta({ description: "The address that gets the copies.", examples: ["ada@example.com"] });

/** Masks an address: its owner recognises it, but others cannot guess it. */
export function maskedAddress(email: string): string {
  const [local = "", domain = ""] = email.split("@");
  return `${local.slice(0, 1)}***@${domain.slice(0, 1)}***.${domain.split(".").at(-1) ?? ""}`;
}

/** Reduces the spellings of an address to one: without a tag and, at Google, without dots and with one domain. */
function personOf(email: string): string {
  const [local = "", domain = ""] = email.replace(/(?<=.)\+[^@]*(?=@)/, "").split("@");
  const isGoogle = domain === "gmail.com" || domain === "googlemail.com";
  return isGoogle ? `${local.replaceAll(".", "")}@gmail.com` : `${local}@${domain}`;
}

/** The key of the times at which any account mailed a person. */
export const mailedKey = (email: string): Key => ({
  PK: `MAILED#${createHash("sha256").update(personOf(email)).digest("hex")}`,
  SK: "MAILED",
});
