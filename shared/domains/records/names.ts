import { isIP } from "node:net";

import { type Reading, quoteText } from "../../core/text.ts";
import { longestName, longestSpelling, readLabels, splitName, tooLong } from "../../dns/labels.ts";

/** The absolute form of a record's name, in lower-case A-labels without a final dot. */
export const absoluteName = (name: string, zone: string): string => (name === "@" ? zone : `${name}.${zone}`);

const isStar = (label: string): boolean => label === "*" || label === "＊";

/** Reads the labels of a record's name, of which the first may be a wildcard (RFC 4592 §2.1.1). */
function readOwner(labels: readonly string[]): Reading {
  const [first = "", ...others] = labels;
  if (others.some(isStar) || (first.length > 1 && /[*＊]/.test(first))) {
    return { fault: "* must be the whole first label, such as * or *.sub" };
  }
  if (!isStar(first)) return readLabels(labels, { underscores: true });
  if (others.length === 0) return { value: "*" };
  const read = readLabels(others, { underscores: true });
  return "fault" in read ? read : { value: `*.${read.value}` };
}

/**
 * Reads the name of a record, relative or absolute, into lower-case A-labels without a final dot; `@` is the zone
 * itself. `zone` serves only for hints in messages.
 */
export function readOwnerName(text: string, zone: string): Reading {
  if (text.length > longestSpelling) return { fault: tooLong };
  const trimmed = text.trim();
  if (trimmed === "") return { fault: `The name is empty. Write @ for ${zone} itself` };
  if (trimmed === "@" || trimmed === "＠") return { value: "@" };
  if (/[@＠]/.test(trimmed)) return { fault: `@ can only stand alone, for ${zone} itself. Write the name without @` };
  return readOwner(splitName(trimmed).labels);
}

/**
 * Brings the name of a record, as customers write it, into its stored form: relative to the zone, in lower-case
 * A-labels, `@` for the zone itself. A name that ends in the zone's own name is absolute, with or without a final dot.
 */
export function readRecordName(text: string, zone: string): Reading {
  const owner = readOwnerName(text, zone);
  if ("fault" in owner || owner.value === "@") return owner;
  const value = relativeTo(zone, owner.value);
  if (value === undefined && splitName(text).isAbsolute) {
    return { fault: `${quoteText(text.trim())} is not a name in ${zone}. A final dot makes a name absolute` };
  }
  const name = value ?? owner.value;
  const again = relativeTo(zone, name);
  if (again !== undefined) return { fault: `The name ends in ${zone} twice. Write ${quoteText(again)}` };
  if (absoluteName(name, zone).length <= longestName) return { value: name };
  return { fault: `Together with .${zone}, the name is longer than ${longestName} bytes` };
}

/** Makes a full name relative to the zone; undefined for a name that is not in the zone. */
export function relativeTo(zone: string, name: string): string | undefined {
  if (name === zone) return "@";
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : undefined;
}

const notAnAddress = "Write a host name, not an address";

/**
 * Explains a common mistake in a name. This helps more than a message about a single label. Undefined if there is no
 * such mistake.
 */
function commonFault(text: string, zone: string): string | undefined {
  if (text === "" || text === ".") return "Write the full host name, such as mail.example.com";
  if (text === "@") return `Write the full name instead of @: ${zone}`;
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
  if (scheme !== undefined) return `Write the host name alone, without ${scheme}`;
  if (isIP(text.replace(/^\[|\]$|\.$/g, ""))) return notAnAddress;
  if (/[/:]/.test(text)) return "Write the host name alone, without port or path";
  return undefined;
}

/**
 * Reads the full name of a host (RFC 1123 §2.1) into lower-case A-labels without a final dot.
 * - With `underscores`, the labels may have underscores, as in the target of a CNAME.
 * - Names are never relative to the zone; `zone` serves only for hints in messages.
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
  if (last === read.value) return { fault: `Write the full name, such as ${exampleLabel(last)}.${zone}` };
  if (/^\d+$/.test(last))
    return { fault: `${quoteText(trimmed)} is not a host name, because its last label is a number` };
  return read;
}

/** The first label of the full name in a hint: the label that was written, or `mail` instead of a long label. */
const exampleLabel = (label: string): string => (label.length > 20 ? "mail" : label);

/** A macro of RFC 7208 §7.1. The letters c, r and t are left out, because only explanations may have them. */
const macro = /%(?:[%_-]|\{[slodiphv](?:[1-9]\d?\d?)?r?[.\-+,/_=]*\})/gi;
const label = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?";
const topLabel = "(?!\\d+\\.?$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
const plainName = new RegExp(`^(?:${label}\\.)+${topLabel}\\.?$`, "i");
const macroEnd = new RegExp(`(?:%(?:[%_-]|\\{[^}]*\\})|\\.${topLabel}\\.?)$`, "i");

/** Explains why the domain-spec of a term is invalid (RFC 7208 §7.1); undefined if it is valid. */
export function domainSpecFault(term: string, spec: string): string | undefined {
  const name = quoteText(term);
  if (spec === "") {
    return `${name} has no domain. Write one, such as ${term.replace(/[:=]?$/, (end) => end || ":")}example.com`;
  }
  if (spec.replace(macro, "").includes("%"))
    return `${name} has a % that is not the beginning of a macro, such as %{i}`;
  if (spec.length > 253) return `${name} is longer than a name can be`;
  if (spec.includes("%")) {
    return macroEnd.test(spec) ? undefined : `${name} must end with a macro or a top-level domain`;
  }
  if (!spec.includes("."))
    return `${name} needs a full name. Write ${quoteText(`${spec}.example.com`)} for ${quoteText(spec)}`;
  const isName = plainName.test(spec) && spec.split(".").every((part) => part.length <= 63);
  return isName ? undefined : `${name} has no valid name: ${quoteText(spec)}`;
}
