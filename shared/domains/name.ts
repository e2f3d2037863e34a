import { domainToUnicode } from "node:url";

import { parse } from "tldts";
import * as z from "zod";

import { longestSpelling, readLabels, splitName, tooLong } from "../dns/labels.ts";
import { Id } from "../ids.ts";

/** What the name of a domain came to: its one spelling (lower-case A-labels, no final dot), or what is wrong with it. */
export type NameReading = { name: string } | { fault: string };

/** Special-use names (RFC 6761 and its registry) that the list of public suffixes may or may not have. */
const reserved = new Set(["test", "example", "invalid", "localhost", "local", "onion", "internal", "alt", "arpa"]);

/** What is around a name in an address of something. */
const notAName = /[/\\?#@:]/u;

/** Reads a domain's name in any spelling: case, IDN by UTS #46, full-width forms and a final dot make no difference. */
export function readName(given: string): NameReading {
  if (given.length > longestSpelling) return { fault: tooLong };
  if (given.trim() === "") return { fault: "The name is empty" };
  if (notAName.test(given)) return { fault: "Write the name alone, such as example.com, without scheme or path" };
  const read = readLabels(splitName(given).labels, { underscores: false });
  if ("fault" in read) return read;
  const labels = read.value.split(".");
  if (labels.length < 2) return { fault: "Write the name with its top-level domain, such as example.com" };
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) return { fault: "This is an address, not a name" };
  const odd = labels.find((label) => label.slice(2, 4) === "--" && !label.startsWith("xn--"));
  if (odd !== undefined)
    return { fault: `The label "${odd}" has hyphens in its third and fourth place: these are reserved` };
  return { name: read.value };
}

/** What keeps a name, in its one spelling, from being a domain of a customer; undefined when nothing does. */
function suffixFault(name: string): string | undefined {
  const { isIcann, isPrivate, domain, publicSuffix } = parse(name, { allowPrivateDomains: true });
  const last = name.split(".").at(-1) ?? "";
  if (reserved.has(last)) return `Names under .${last} are reserved: they are not on the public internet`;
  if (!isIcann && !isPrivate) return `.${last} is not a top-level domain`;
  if (domain === null) return `${publicSuffix ?? name} is a public suffix: names are registered under it`;
  return undefined;
}

/** What is wrong with a text as the name of a domain; undefined when nothing is. */
function faultOf(given: string): string | undefined {
  const read = readName(given);
  return "fault" in read ? read.fault : suffixFault(read.name);
}

function spelled(given: string): string {
  const read = readName(given);
  return "name" in read ? read.name : given;
}

const spelling =
  "In any spelling: case, a final dot and the Unicode or Punycode form of an internationalised name make no difference.";

/** The name of a domain as customers write it, read into its one spelling. */
export const DomainName = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const fault = faultOf(given);
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  })
  .overwrite(spelled)
  .meta({ description: `The domain's name. ${spelling}`, examples: ["example.com"] });

/** A domain by its name, in any spelling, or by its id. */
export const DomainRef = z
  .string()
  .max(1_000)
  .superRefine((given, context) => {
    const fault = Id.safeParse(given).success ? undefined : faultOf(given);
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  })
  .overwrite((given) => (Id.safeParse(given).success ? given.toLowerCase() : spelled(given)))
  .meta({ description: "The domain: its name, in any spelling, or its id.", examples: ["example.com"] });

/** A name as it is shown to people: with U-labels. */
export const unicodeOf = (name: string): string => domainToUnicode(name);

/** The part under which a name is registered (`co.uk`), and the name one registers (`example.co.uk`). */
export function registrable(name: string): { suffix: string; domain: string } | undefined {
  const { domain, publicSuffix } = parse(name, { allowPrivateDomains: false });
  return domain === null || publicSuffix === null ? undefined : { suffix: publicSuffix, domain };
}
