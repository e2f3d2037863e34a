import { shown, type Reading } from "../../core/reading.ts";
import { longestName, longestSpelling, readLabels, splitName, tooLong } from "../../dns/labels.ts";

/** The name of a record of a zone as an absolute one, in lower-case A-labels without a final dot. */
export const absoluteName = (name: string, zone: string): string => (name === "@" ? zone : `${name}.${zone}`);

const isStar = (label: string): boolean => label === "*" || label === "＊";

/** All of a name but the wildcard it may begin with (RFC 4592 §2.1.1). */
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
 * Reads the name of a record as customers write it into the one that is kept: relative to the zone, in lower-case
 * A-labels, `@` for the zone itself. A name that ends in the zone's own is absolute, with or without a final dot.
 */
export function readRecordName(text: string, zone: string): Reading {
  if (text.length > longestSpelling) return { fault: tooLong };
  const trimmed = text.trim();
  if (trimmed === "") return { fault: `The name is empty: write @ for ${zone} itself` };
  if (trimmed === "@" || trimmed === "＠") return { value: "@" };
  if (/[@＠]/.test(trimmed)) return { fault: `@ stands alone, for ${zone} itself: write the name without it` };
  const { labels, isAbsolute } = splitName(trimmed);
  const owner = readOwner(labels);
  if ("fault" in owner) return owner;
  const value = relativeTo(zone, owner.value);
  if (value === undefined && isAbsolute) {
    return { fault: `${shown(trimmed)} is not a name in ${zone}: a final dot makes a name absolute` };
  }
  const name = value ?? owner.value;
  const again = relativeTo(zone, name);
  if (again !== undefined) return { fault: `The name ends in ${zone} twice: write ${shown(again)}` };
  if (absoluteName(name, zone).length <= longestName) return { value: name };
  return { fault: `The name is longer than ${longestName} bytes with .${zone} at its end` };
}

function relativeTo(zone: string, name: string): string | undefined {
  if (name === zone) return "@";
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : undefined;
}
