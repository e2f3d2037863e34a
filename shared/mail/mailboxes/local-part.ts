import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { readName } from "../../domains/name.ts";

const maxLocalLength = 64;

/**
 * Explains why a text is not a valid local part. Undefined if the text is valid. The local part is the part of an
 * address before the @. Ignores case.
 */
export function localPartFault(given: string): string | undefined {
  const local = given.trim().toLowerCase();
  if (local === "") return "The local part is empty";
  if (local.includes("@")) return "Write only the part before the @. The domain is given separately";
  if (local.length > maxLocalLength) return `The local part is longer than ${maxLocalLength} characters`;
  if (local.startsWith('"')) return "A local part cannot be in quotes";
  if (local.includes("+")) return "A local part cannot contain a +. Mail to name+anything is delivered to name";
  // The text is tested as given, because the Kelvin sign becomes a `k` in lower case.
  if (/[^\x20-\x7e]/.test(given.trim())) return "A local part can have no letters other than a to z";
  if (local.includes("..")) return "A local part cannot have two dots in a row";
  if (!/^[a-z0-9]/.test(local) || !/[a-z0-9]$/.test(local))
    return "A local part must begin and end with a letter or a digit";
  if (!/^[a-z0-9._-]+$/.test(local)) return "Only letters, digits, dots, hyphens and underscores are allowed";
  return undefined;
}

/** A text with its letters A to Z in lower case. `toLowerCase` would also make an ASCII `k` of the Kelvin sign. */
export const lowerAscii = (given: string): string => given.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

const validatedText = (fault: (given: string) => string | undefined, normalise: (given: string) => string) =>
  z
    .string()
    .max(1_000)
    .superRefine((given, context) => {
      const message = fault(given);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .overwrite(normalise);

/** The schema of a local part. Its output is in lower case. */
export const LocalPart = validatedText(localPartFault, (given) => given.trim().toLowerCase()).meta({
  description:
    "The part of the address before the @: 1 to 64 letters, digits, dots, hyphens and underscores. Upper case becomes lower case.",
  examples: ["ada.lovelace"],
});

/**
 * Splits an address into its two canonical parts; undefined if the text is not an address. Ignores spaces around the
 * address. A text with a control character, such as a line break, is not an address.
 */
export function readAddress(given: string): { local: string; domain: string } | undefined {
  // The table's keys are UTF-8, which cannot hold an unpaired surrogate. A line break could end a header of a mail.
  const text = given.isWellFormed() && !/\p{Cc}/u.test(given) ? given.trim() : "";
  const [, local = "", domain = ""] = /^([^@]{1,64})@([^@]+)$/.exec(text) ?? [];
  const read = readName(domain);
  return local === "" || "fault" in read ? undefined : { local: lowerAscii(local), domain: read.name };
}

/**
 * Reads an address as `readAddress` does, but without its tag: mail to ada+lists goes to ada. The tag can have any
 * length.
 */
export const readUntagged = (given: string): ReturnType<typeof readAddress> =>
  readAddress(given.replace(/(?<=\S)\+[^@\p{Cc}]*(?=@)/u, ""));

const refFault = (given: string): string | undefined =>
  Id.safeParse(given).success || readAddress(given) ? undefined : "Write a mailbox's id or its address";

/** The schema of a reference to a mailbox: its id or its address. */
export const MailboxRef = validatedText(refFault, (given) => {
  const read = readAddress(given);
  return read ? `${read.local}@${read.domain}` : given.toLowerCase();
}).meta({ description: "The mailbox's id or its address.", examples: ["ada@example.com"] });
