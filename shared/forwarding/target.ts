import { createHash } from "node:crypto";

import * as z from "zod";

import { readAddress } from "../mailboxes/local-part.ts";
import type { Key } from "../table/writes.ts";

const longest = 254;

/** What is wrong with a text as an address that mail can be sent to (RFC 5321 §4.1.2, without quoted local parts). */
function faultOf(given: string): string | undefined {
  if (given.trim().length > longest) return `An address has ${longest} characters at most`;
  const read = readAddress(given);
  if (!read) return "Write one address, such as ada@example.com";
  if (/[^\x21-\x7e]/.test(read.local)) return "Only ASCII is possible before the @";
  if (!/^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/.test(read.local)) {
    return "The part before the @ is not one that mail can be sent to";
  }
  return `${read.local}@${read.domain}`.length > longest ? `An address has ${longest} characters at most` : undefined;
}

/** An address that mail can be sent to, read into its one spelling: lower case, the domain in A-labels. */
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
  .meta({ description: "Where copies are to go: one address.", examples: ["ada@example.com"] });

/** An address of which whoever has it sees that it is theirs, and nobody else can make out whose it is. */
export function maskedAddress(email: string): string {
  const [local = "", domain = ""] = email.split("@");
  return `${local.slice(0, 1)}***@${domain.slice(0, 1)}***.${domain.split(".").at(-1) ?? ""}`;
}

/**
 * Where it is noted when an address was mailed to, by whichever account. What stands behind a plus makes no difference:
 * it is the same person's mail.
 */
export function mailedKey(email: string): Key {
  const plain = email.replace(/(?<=.)\+[^@]*(?=@)/, "");
  return { PK: `MAILED#${createHash("sha256").update(plain).digest("hex")}`, SK: "MAILED" };
}
