import { domainToASCII, domainToUnicode } from "node:url";

import { quoteCharacter, quoteText, type Reading } from "../core/text.ts";
import { notAllowed, uLabelFault } from "./idna.ts";

const longestLabel = 63;
/** The longest name as text, in bytes. RFC 1035 §2.3.4 allows 255 on the wire, with a length byte for each label. */
export const longestName = 253;
/** The longest spelling of a name, in characters. No reasonable spelling of a name of 253 bytes is longer. */
export const longestSpelling = 1_000;

export const tooLong = `The name is longer than ${longestName} bytes`;

type LabelOptions = { underscores: boolean };

/** All characters of ASCII except letters, digits, hyphen and underscore. */
const foreignAscii = /[\0-,./:-@[-^`{-\x7f]/;
/** Invisible characters, except the two joiners, which have their own rules (see idna.ts). */
const invisible = /(?![\u200c\u200d])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** Symbols, such as ™ and ⓐ, which UTS #46 would map to letters. Excludes the symbols that RFC 5892 allows. */
const symbols = /(?![\u0375\u06fd\u06fe])\p{S}/u;
/** A label of letters, digits, hyphens and underscores, without a hyphen at its ends. */
const ldh = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Each label is converted alone, with this suffix.
 * - Alone, because the Bidi rule refuses `_dmarc` or `1` in one name with a label that is written from right to left.
 * - With the suffix, because the URL parser behind node:url reads a host whose last label is a number as an IPv4
 *   address.
 */
const suffix = ".a";
const toAscii = (label: string): string => domainToASCII(label + suffix).slice(0, -suffix.length);
const toUnicode = (label: string): string => domainToUnicode(label + suffix).slice(0, -suffix.length);

function characterFault(label: string): string | undefined {
  const hidden = invisible.exec(label)?.[0];
  if (hidden !== undefined) return `The name has an invisible character (${quoteCharacter(hidden)}). Remove it`;
  if (/\s/.test(label)) return "A name cannot have spaces";
  const foreign = foreignAscii.exec(label)?.[0];
  if (foreign === undefined) return undefined;
  return `${quoteText(foreign)} is not allowed in names. Use letters, digits, hyphens and dots only`;
}

/** Converts a label that has characters outside ASCII, or begins with `xn--`, to its ASCII form. */
function readInternationalised(label: string): Reading {
  const symbol = symbols.exec(label)?.[0];
  if (symbol !== undefined) return { fault: notAllowed(symbol) };
  const ascii = toAscii(label);
  const invalid = `The label ${quoteText(label)} is not a valid internationalised label (RFC 5891)`;
  if (ascii === "") return { fault: invalid };
  if (!ascii.startsWith("xn--")) return { value: ascii };
  const decoded = toUnicode(ascii);
  // If Node cannot decode a label, it returns the label as it was. A valid A-label is the encoding of its own decoded
  // form.
  if (decoded === ascii || toAscii(decoded) !== ascii) return { fault: invalid };
  const fault = uLabelFault(decoded);
  return fault === undefined ? { value: ascii } : { fault };
}

/**
 * Splits a name of at most `longestSpelling` characters into its labels, at any kind of full stop (UTS #46 §2.3).
 * `isAbsolute` says whether the name ends with a full stop.
 */
export function splitName(text: string): { labels: string[]; isAbsolute: boolean } {
  const dotted = text.trim().replace(/[。．｡]/g, ".");
  const isAbsolute = dotted.endsWith(".");
  return { labels: (isAbsolute ? dotted.slice(0, -1) : dotted).split("."), isAbsolute };
}

/**
 * Reads one label of a name: 1 to 63 bytes of letters, digits and inner hyphens, in lower case. Underscores are valid
 * only with the option `underscores`. U-labels become A-labels: UTS #46 maps their characters, and IDNA2008 says which
 * characters are valid.
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
  if (!underscores && value.includes("_"))
    return { fault: `A host name cannot have an underscore: ${quoteText(label)}` };
  if (ldh.test(value)) return { value };
  return {
    fault: `The label ${quoteText(label)} must have letters, digits and hyphens only, and no hyphen at its ends`,
  };
}

/** Reads the labels of a name and joins them. Explains the first invalid label, or that the name is too long. */
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
