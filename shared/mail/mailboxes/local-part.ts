import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { readName } from "../../domains/name.ts";

const longestLocal = 64;

/**
 * The fault of a text as the part of an address before the @; undefined when there is none. Case makes no difference.
 */
export function localPartFault(given: string): string | undefined {
  const local = given.trim().toLowerCase();
  if (local === "") return "The local part is empty";
  if (local.includes("@")) return "Write the part before the @ alone: the domain is said apart";
  if (local.length > longestLocal) return `The local part is longer than ${longestLocal} characters`;
  if (local.startsWith('"')) return "Quoted local parts are not given out";
  if (local.includes("+")) return "A + is for sub-addresses: mail to name+anything comes to name";
  if (/[^\x20-\x7e]/.test(local)) return "Only the letters a to z are given out in addresses";
  if (local.includes("..")) return "Two dots cannot stand side by side";
  if (!/^[a-z0-9]/.test(local) || !/[a-z0-9]$/.test(local)) return "It must begin and end with a letter or a digit";
  if (!/^[a-z0-9._-]+$/.test(local)) return "Only letters, digits, dots, hyphens and underscores are allowed";
  return undefined;
}

const checked = (fault: (given: string) => string | undefined, tidy: (given: string) => string) =>
  z
    .string()
    .max(1_000)
    .superRefine((given, context) => {
      const message = fault(given);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .overwrite(tidy);

/** The schema of the part of an address before the @; gives it in lower case. */
export const LocalPart = checked(localPartFault, (given) => given.trim().toLowerCase()).meta({
  description:
    "The part of the address before the @: 1 to 64 letters, digits, dots, hyphens and underscores. Upper case is folded.",
  examples: ["ada.lovelace"],
});

/** Splits an address into its two parts, each in its one spelling; undefined when the text is no address. */
export function readAddress(given: string): { local: string; domain: string } | undefined {
  // The table's keys are UTF-8, which cannot hold an unpaired surrogate.
  const text = given.isWellFormed() ? given.trim() : "";
  const [, local = "", domain = ""] = /^([^@]{1,64})@([^@]+)$/.exec(text) ?? [];
  const read = readName(domain);
  return local === "" || "fault" in read ? undefined : { local: local.toLowerCase(), domain: read.name };
}

const refFault = (given: string): string | undefined =>
  Id.safeParse(given).success || readAddress(given) ? undefined : "Write a mailbox's id, or its address";

/** The schema of a reference to a mailbox: its id or its address. */
export const MailboxRef = checked(refFault, (given) => {
  const read = readAddress(given);
  return read ? `${read.local}@${read.domain}` : given.toLowerCase();
}).meta({ description: "The mailbox: its id, or its address.", examples: ["ada@example.com"] });
