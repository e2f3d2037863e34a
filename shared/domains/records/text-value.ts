import { named, type Reading } from "../../core/reading.ts";
import { isQuoted, unquoted } from "./character-strings.ts";
import { dkimFault } from "./dkim.ts";
import { dmarcFault } from "./dmarc.ts";
import { spfFault } from "./spf.ts";

const longestBytes = 2_048;
/** Every byte in a string of its own, as an escape and in quotes, and a little room. */
const longestQuoted = 8 * longestBytes;

function lengthFault(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  return bytes > longestBytes ? `The text is ${bytes} bytes long: the most is ${longestBytes}` : undefined;
}

/** What the text of a record is for, by what receivers look for and where they look for it. */
function policyFault(text: string, name: string | undefined): string | undefined {
  const before = /^[^a-z0-9]+(?=v=(?:spf|dmarc|dkim)\d)/i.exec(text)?.[0];
  if (before !== undefined) return "Remove what is before v=: nobody finds the record behind it";
  if (/^v=spf/i.test(text)) return spfFault(text);
  const labels = name?.split(".") ?? [];
  if (labels[0] === "_dmarc") return dmarcFault(text);
  return labels.indexOf("_domainkey") > 0 ? dkimFault(text) : undefined;
}

/** The text of a TXT record as it is meant: what is wholly in quotes is what the quotes are around. */
function readText(given: string): Reading {
  if (given.length > longestQuoted) return { fault: `The text is longer than ${longestBytes} bytes` };
  if (!isQuoted(given)) return { value: given };
  const value = unquoted(given);
  if (value === undefined) return { fault: "The text has escapes that are not UTF-8: write it without quotes" };
  return isQuoted(value) ? { fault: "The text is in quotes twice: write it without them" } : { value };
}

/**
 * Reads the text of a TXT record: 1 to 2048 bytes of UTF-8 without control characters, kept as it is. A text that is
 * wholly in quotes, as in zone files (`"v=spf1 " "-all"`, with the escapes of RFC 1035 §5.1), is taken out of them.
 * SPF records, DMARC records at `_dmarc` and DKIM keys under `_domainkey` have to be right.
 */
export function readTextValue(given: string, name: string | undefined): Reading {
  const read = readText(given);
  if ("fault" in read) return read;
  const { value } = read;
  if (value.trim() === "") return { fault: "The text is empty" };
  if (!value.isWellFormed()) return { fault: "The text has half of a character (an unpaired surrogate)" };
  const control = /\p{Cc}/u.exec(value)?.[0];
  if (control !== undefined) return { fault: `The text has a control character, ${named(control)}: remove it` };
  const fault = lengthFault(value) ?? policyFault(value, name);
  return fault === undefined ? { value } : { fault };
}
