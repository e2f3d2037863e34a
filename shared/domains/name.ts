import { domainToUnicode } from "node:url";

import * as z from "zod";

import { Id } from "../core/ids.ts";
import { longestSpelling, readLabels, splitName, tooLong } from "../dns/labels.ts";

/**
 * The result of reading a domain's name: the canonical name (lower-case A-labels, no final dot), or the reason why it
 * is invalid.
 */
type NameReading = { name: string } | { fault: string };

/** The characters that separate a host name from the other parts of a URL or an email address. */
const notAName = /[/\\?#@:]/u;

/**
 * Reads a domain's name in any spelling: in upper or lower case, in Unicode or Punycode (UTS #46), with full-width
 * characters, with or without a final dot.
 */
export function readName(given: string): NameReading {
  if (given.length > longestSpelling) return { fault: tooLong };
  if (given.trim() === "") return { fault: "The name is empty" };
  if (notAName.test(given)) return { fault: "Write the name alone, such as example.com, without scheme or path" };
  const read = readLabels(splitName(given).labels, { underscores: false });
  if ("fault" in read) return read;
  const labels = read.value.split(".");
  if (labels.length < 2) return { fault: "Write the name with its top-level domain, such as example.com" };
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? ""))
    return { fault: "The last part is a number, as in an IP address. Write a domain name" };
  const odd = labels.find((label) => label.slice(2, 4) === "--" && !label.startsWith("xn--"));
  if (odd !== undefined)
    return { fault: `The label "${odd}" has hyphens in its third and fourth place. Such labels are reserved` };
  return { name: read.value };
}

/** The names above a canonical name, the closest name first. The top-level name is not among them. */
export const parentNames = (name: string): string[] => {
  const labels = name.split(".");
  return labels.slice(1, -1).map((_, index) => labels.slice(index + 1).join("."));
};

/**
 * Top-level names under which nobody can register a domain: the names for special use (RFC 6761 and its registry),
 * `internal` and `arpa`. The list of public suffixes has only some of them.
 */
const specialUse = new Set(["test", "example", "invalid", "localhost", "local", "onion", "internal", "alt", "arpa"]);

/** Whether the top-level name of a canonical name is one of `specialUse`. */
export const isSpecialUse = (name: string): boolean => specialUse.has(name.split(".").at(-1) ?? "");

function canonicalName(given: string): string {
  const read = readName(given);
  return "name" in read ? read.name : given;
}

const spelling =
  "Every spelling is accepted: upper or lower case, with or without a final dot, in Unicode or Punycode.";

/** The schema of a domain's name: accepts any spelling, and outputs the canonical spelling. */
export const DomainName = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const read = readName(given);
    if ("fault" in read) context.addIssue({ code: "custom", message: read.fault });
  })
  .overwrite(canonicalName)
  .meta({ description: `The domain's name. ${spelling}`, examples: ["example.com"] });

/** The schema of a reference to a domain: its name in any spelling, or its id. */
export const DomainRef = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    if (Id.safeParse(given).success) return;
    const read = readName(given);
    if ("fault" in read) context.addIssue({ code: "custom", message: read.fault });
  })
  .overwrite((given) => (Id.safeParse(given).success ? given.toLowerCase() : canonicalName(given)))
  .meta({ description: "The domain's name, in any spelling, or its id.", examples: ["example.com"] });

/** The spelling of a name for people: with U-labels. */
export const unicodeOf = (name: string): string => domainToUnicode(name);
