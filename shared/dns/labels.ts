import { domainToASCII, domainToUnicode } from "node:url";

import { quoteCharacter, quoteText, type Reading } from "../core/quote.ts";
import { notAllowed, uLabelFault } from "./idna.ts";

const longestLabel = 63;
/** The most bytes of a whole name in writing, without the length bytes of the wire (RFC 1035 §2.3.4). */
export const longestName = 253;
/** More characters than any spelling that a person would write for a name of 253 bytes. */
export const longestSpelling = 1_000;

export const tooLong = `The name is longer than ${longestName} bytes`;

type LabelOptions = { underscores: boolean };

/** All characters of ASCII except letters, digits, hyphen and underscore. */
const foreignAscii = /[\0-,./:-@[-^`{-\x7f]/;
/** Characters that cannot be seen in a text. The joiners have rules of their own. */
const invisible = /(?![\u200c\u200d])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** Symbols that the mapping would turn into letters, such as ™ and ⓐ, without the exceptions of RFC 5892. */
const symbols = /(?![\u0375\u06fd\u06fe])\p{S}/u;
const ldh = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Labels are converted one by one, with another label at the end.
 * - One by one, because the Bidi rule would refuse `_dmarc` or `1` beside a label that is written from right to left.
 * - With another label, because the URL parser behind node:url reads a host whose last label is a number as an IPv4
 *   address.
 */
const beside = ".a";
const toAscii = (label: string): string => domainToASCII(label + beside).slice(0, -beside.length);
const toUnicode = (label: string): string => domainToUnicode(label + beside).slice(0, -beside.length);

function characterFault(label: string): string | undefined {
  const hidden = invisible.exec(label)?.[0];
  if (hidden !== undefined) return `The name has an invisible character (${quoteCharacter(hidden)}): remove it`;
  if (/\s/.test(label)) return "A name has no spaces";
  const foreign = foreignAscii.exec(label)?.[0];
  if (foreign === undefined) return undefined;
  return `${quoteText(foreign)} is not allowed in names: only letters, digits, hyphens and dots are`;
}

/** Reads a label that has letters outside ASCII, or that begins like an A-label, into its A-label. */
function readInternationalised(label: string): Reading {
  const symbol = symbols.exec(label)?.[0];
  if (symbol !== undefined) return { fault: notAllowed(symbol) };
  const ascii = toAscii(label);
  const invalid = `The label ${quoteText(label)} is not a valid internationalised label (RFC 5891)`;
  if (ascii === "") return { fault: invalid };
  if (!ascii.startsWith("xn--")) return { value: ascii };
  const decoded = toUnicode(ascii);
  // A label that cannot be decoded comes back unchanged; so does one whose decoded form encodes to another label.
  if (decoded === ascii || toAscii(decoded) !== ascii) return { fault: invalid };
  const fault = uLabelFault(decoded);
  return fault === undefined ? { value: ascii } : { fault };
}

/**
 * Splits a name of at most `longestSpelling` characters into its labels, at any kind of full stop (UTS #46 §2.3).
 * `isAbsolute`: it ends with one.
 */
export function splitName(text: string): { labels: string[]; isAbsolute: boolean } {
  const dotted = text.trim().replace(/[。．｡]/g, ".");
  const isAbsolute = dotted.endsWith(".");
  return { labels: (isAbsolute ? dotted.slice(0, -1) : dotted).split("."), isAbsolute };
}

/**
 * Reads one label of a name: 1 to 63 bytes of letters, digits and inner hyphens in lower case. Underscores must be
 * allowed by the options. U-labels become A-labels (UTS #46 mapping, IDNA2008's characters).
 */
function readLabel(label: string, { underscores }: LabelOptions): Reading {
  if (label === "") return { fault: "The name has an empty label: two dots in a row, or a dot at its start" };
  const fault = characterFault(label);
  if (fault !== undefined) return { fault };
  const lower = label.toLowerCase();
  const isPlain = /^[\0-\x7f]+$/.test(label) && !lower.startsWith("xn--");
  const read = isPlain ? { value: lower } : readInternationalised(label);
  if ("fault" in read) return read;
  const { value } = read;
  if (value.length > longestLabel) {
    const form = value.startsWith("xn--") && !lower.startsWith("xn--") ? " in its xn-- form" : "";
    return { fault: `The label ${quoteText(label)} is longer than ${longestLabel} bytes${form}` };
  }
  if (!underscores && value.includes("_")) return { fault: `A host name has no underscore: ${quoteText(label)}` };
  if (ldh.test(value)) return { value };
  return { fault: `The label ${quoteText(label)} must be letters, digits and hyphens, with no hyphen at its ends` };
}

/** Reads the labels of a name and joins them, or gives the fault of the first faulty label. */
export function readLabels(labels: readonly string[], options: LabelOptions): Reading {
  const values: string[] = [];
  for (const label of labels) {
    const read = readLabel(label, options);
    if ("fault" in read) return read;
    values.push(read.value);
  }
  const value = values.join(".");
  return value.length > longestName ? { fault: tooLong } : { value };
}
