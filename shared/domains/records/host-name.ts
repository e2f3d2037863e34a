import { isIP } from "node:net";

import { shown, type Reading } from "../../core/reading.ts";
import { longestSpelling, readLabels, splitName, tooLong } from "../../dns/labels.ts";

const address = "Write a host name, not an address";

/** The mistakes that are worth more than what is wrong with a label. */
function commonFault(text: string, zone: string): string | undefined {
  if (text === "" || text === ".") return "Write the full host name, such as mail.example.com";
  if (text === "@") return `Write the full name instead of @: ${zone}`;
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
  if (scheme !== undefined) return `Write the host name alone, without ${scheme}`;
  if (isIP(text.replace(/^\[|\]$|\.$/g, ""))) return address;
  if (/[/:]/.test(text)) return "Write the host name alone, without port or path";
  return undefined;
}

/**
 * Reads the name of a host (RFC 1123 §2.1) in full, into lower-case A-labels without a final dot. With `underscores`
 * it may be any name that is not a wildcard, as the target of a CNAME is. Names are never relative to the zone, which
 * is only named in hints.
 */
export function readHostName(text: string, { zone, underscores }: { zone: string; underscores: boolean }): Reading {
  if (text.length > longestSpelling) return { fault: tooLong };
  const trimmed = text.trim();
  const fault = commonFault(trimmed, zone);
  if (fault !== undefined) return { fault };
  const { labels } = splitName(trimmed);
  const read = readLabels(labels, { underscores });
  if ("fault" in read) return read;
  const last = read.value.slice(read.value.lastIndexOf(".") + 1);
  if (last === read.value) return { fault: `Write the full name, such as ${clipped(last)}.${zone}` };
  if (/^\d+$/.test(last)) return { fault: `${shown(trimmed)} is not a host name: its last label is a number` };
  return read;
}

const clipped = (label: string): string => (label.length > 20 ? "mail" : label);
