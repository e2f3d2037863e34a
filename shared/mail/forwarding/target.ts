import { hash } from "node:crypto";

import * as z from "zod";

import { readable, type Reading } from "../../core/text.ts";
import type { Key } from "../../table/writes.ts";
import { readAddress } from "../mailboxes/local-part.ts";

const longestAddress = 254;

/** Top-level names without public mail: `internal`, `arpa`, and some special-use names (RFC 6761 and its registry). */
const notPublic = new Set(["local", "localhost", "internal", "onion", "alt", "arpa"]);

const tooLong = { fault: `An address has ${longestAddress} characters at most` };

/** Reads a mail address (RFC 5321 §4.1.2, without quoted local parts) into lower case, with the domain in A-labels. */
function readMailAddress(given: string): Reading {
  if (given.trim().length > longestAddress) return tooLong;
  const read = readAddress(given);
  if (!read) return { fault: "Write one address, such as ada@example.com" };
  if (/[^\x20-\x7e]/.test(read.local)) return { fault: "The part before the @ can have only ASCII characters" };
  // The characters % and ! are not allowed, because old mail servers use them to relay mail.
  if (!/^[a-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[a-z0-9#$&'*+/=?^_`{|}~-]+)*$/.test(read.local)) {
    return { fault: "The part before the @ has a character that an address cannot have there, or a misplaced dot" };
  }
  const address = `${read.local}@${read.domain}`;
  return address.length > longestAddress ? tooLong : { value: address };
}

/** Reads a mail address as `readMailAddress` does. Its domain must be on the public internet. */
export function readTarget(given: string): Reading {
  const reading = readMailAddress(given);
  const last = "value" in reading ? (reading.value.split(".").at(-1) ?? "") : "";
  return notPublic.has(last) ? { fault: `Names under .${last} are not on the public internet` } : reading;
}

/** The form of a mail address, as sentences for descriptions. */
export const mailAddressForm =
  "At most 254 characters, with ASCII characters before the @. The address is stored in lower case, with the domain in Punycode.";

/** The schema of any mail address. Its output is in lower case, with the domain in A-labels. */
export const MailAddress = readable(z.string().max(1_000), readMailAddress).meta({ examples: ["ada@example.com"] });

/**
 * The schema of a mail address whose domain is on the public internet. Its output is in lower case, with the domain in
 * A-labels.
 */
export const TargetEmail = readable(z.string().max(1_000), readTarget).meta({
  description: "The address that gets the copies.",
  examples: ["ada@example.com"],
});

/** The most targets of a rule. */
export const targetLimit = 10;

/** The members of a body that give the targets of a rule. */
export const targetMembers = {
  target_email: TargetEmail.optional().meta({ description: "The first target.", examples: ["ada@example.com"] }),
  target_emails: z
    .array(TargetEmail)
    .min(1)
    .max(targetLimit)
    .optional()
    .meta({
      description: `All targets, 1 to ${targetLimit}. A recipient has to agree, unless the target is a mailbox of the account that you can see.`,
    }),
};

type TargetBody = { target_email?: string | undefined; target_emails?: readonly string[] | undefined };

/** A fault in a body: the path to the member, and the mistake. */
export type BodyFault = { path: (string | number)[]; message: string };

/** Explains why the targets in a body contradict each other; undefined if they do not. */
export function targetsFault({ target_email, target_emails = [] }: TargetBody): BodyFault | undefined {
  const [first] = target_emails;
  if (target_email !== undefined && first !== undefined && target_email !== first) {
    return {
      path: ["target_email"],
      message: "This is not the first of target_emails. Give either target_email or target_emails",
    };
  }
  const again = target_emails.findIndex((email, index) => target_emails.indexOf(email) < index);
  return again < 0 ? undefined : { path: ["target_emails", again], message: "The address is given twice" };
}

/** The addresses of targets as a caller gives them, each address once, and the place of each address in the request. */
export type GivenTargets = { emails: readonly string[]; locOf: (email: string) => (string | number)[] };

/** The targets in a body; no addresses if the body gives none. */
export function givenTargets({ target_email, target_emails }: TargetBody): GivenTargets {
  if (target_emails) {
    return { emails: target_emails, locOf: (email) => ["body", "target_emails", target_emails.indexOf(email)] };
  }
  return { emails: target_email === undefined ? [] : [target_email], locOf: () => ["body", "target_email"] };
}

/** Masks an address. The owner recognises the masked address. Others can hardly guess the full address. */
export function maskedAddress(email: string): string {
  const [local = "", domain = ""] = email.split("@");
  return `${local.slice(0, 1)}***@${domain.slice(0, 1)}***.${domain.split(".").at(-1) ?? ""}`;
}

/**
 * Returns one text for the known spellings of an address. The text is the address without its tag, which is the part
 * from a plus sign to the @. For an address at Google, the text also has no dots before the @, and has the domain
 * gmail.com.
 */
function personOf(email: string): string {
  const [local = "", domain = ""] = email.replace(/(?<=.)\+[^@]*(?=@)/, "").split("@");
  const isGoogle = domain === "gmail.com" || domain === "googlemail.com";
  return isGoogle ? `${local.replaceAll(".", "")}@gmail.com` : `${local}@${domain}`;
}

/** The key of the times at which any account mailed a person. */
export const mailedKey = (email: string): Key => ({
  PK: `MAILED#${hash("sha256", personOf(email))}`,
  SK: "MAILED",
});
