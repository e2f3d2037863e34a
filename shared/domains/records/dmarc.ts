import { shown } from "../../core/reading.ts";
import { readTagList } from "./tag-list.ts";

const policies = ["none", "quarantine", "reject"];
const alignments = ["r", "s"];

/** The tags of which there are only so many values (RFC 7489 §6.3, and `t`, `psd`, `np` of its successor). */
const choices = new Map<string, readonly string[]>([
  ["p", policies],
  ["sp", policies],
  ["np", policies],
  ["adkim", alignments],
  ["aspf", alignments],
  ["t", ["y", "n"]],
  ["psd", ["y", "n", "u"]],
]);

const uri = /^[a-z][a-z0-9+.-]*:[^\s,;!]+(?:!\d+[kmgt]?)?$/i;
const mailto = /^mailto:[^\s@]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:!\d+[kmgt]?)?$/i;

function reportFault(tag: string, value: string): string | undefined {
  for (const address of value.split(",").map((part) => part.trim())) {
    const example = `write ${tag}=mailto:dmarc@example.com`;
    if (/^[^:]+@/.test(address)) return `${tag}= needs mailto: before ${shown(address)}`;
    if (/^mailto:/i.test(address) ? !mailto.test(address) : !uri.test(address)) {
      return `${shown(address)} is nowhere to send reports to: ${example}`;
    }
  }
  return undefined;
}

function tagFault(tag: string, value: string): string | undefined {
  const allowed = choices.get(tag);
  if (allowed !== undefined && !allowed.includes(value.toLowerCase())) {
    return `${tag}= must be ${allowed.join(", ")}: it is ${shown(value)}`;
  }
  if (tag === "pct" && !(/^\d{1,3}$/.test(value) && Number(value) <= 100)) return "pct= must be a number from 0 to 100";
  if (tag === "ri" && !/^\d{1,10}$/.test(value)) return "ri= must be a number of seconds";
  if (tag === "fo" && !/^[01ds](?:\s*:\s*[01ds])*$/i.test(value)) {
    return "fo= must be 0, 1, d or s, or some of them with colons";
  }
  return tag === "rua" || tag === "ruf" ? reportFault(tag, value) : undefined;
}

/** What is wrong with a DMARC record (RFC 7489 §6.3); tags that nobody knows are ignored, as receivers do. */
export function dmarcFault(text: string): string | undefined {
  if (!/^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) {
    return 'A DMARC record begins with "v=DMARC1;", such as "v=DMARC1; p=none"';
  }
  const read = readTagList(text);
  if ("fault" in read) return `DMARC: ${read.fault}`;
  if (!read.tags.has("p")) return `DMARC: p= is missing: write p=none, p=quarantine or p=reject after "v=DMARC1;"`;
  for (const [tag, value] of read.tags) {
    const fault = tagFault(tag, value);
    if (fault !== undefined) return `DMARC: ${fault}`;
  }
  return undefined;
}
