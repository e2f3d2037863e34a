import { RecordType } from "../../dns/rrset.ts";
import { isQuoted, unquoted } from "./character-strings.ts";
import type { RecordInput } from "./record.ts";
import type { Word } from "./zone-file-entries.ts";

type Data = Omit<RecordInput, "name" | "type" | "ttl">;

/** What comes after the type, in its order. */
const shapes: Record<
  Exclude<RecordType, "TXT">,
  readonly ("priority" | "weight" | "port" | "flags" | "tag" | "host" | "text")[]
> = {
  A: ["text"],
  AAAA: ["text"],
  CNAME: ["host"],
  NS: ["host"],
  MX: ["priority", "host"],
  SRV: ["priority", "weight", "port", "host"],
  CAA: ["flags", "tag", "text"],
};

const dnssec = new Set([
  "DS",
  "CDS",
  "DNSKEY",
  "CDNSKEY",
  "RRSIG",
  "NSEC",
  "NSEC3",
  "NSEC3PARAM",
  "DLV",
  "KEY",
  "SIG",
  "NXT",
]);

/** Why a type is left out; undefined when it is not. */
export function typeFault(type: string): string | undefined {
  if (RecordType.safeParse(type).success) return undefined;
  if (type === "SOA") return "The zone has an SOA record of its own";
  if (dnssec.has(type)) return "DNSSEC records are not offered";
  if (type === "SPF") return "Records of type SPF are obsolete (RFC 7208): write it as TXT";
  return `Records of type ${type.slice(0, 20)} are not offered: the types are ${RecordType.options.join(", ")}`;
}

/** A name of a zone file in full, with its final dot; `origin` has one too. */
export function inFull(name: Word, origin: string): string {
  if (name === "@") return origin;
  return name.endsWith(".") ? name : `${name}${origin === "." ? "" : "."}${origin}`;
}

/** Words of text in one piece; one that cannot be without its quotes keeps them, for `parseRecord` to say why. */
function textOf(words: readonly Word[]): string {
  const inQuotes = words.map((word) => `"${word}"`).join(" ");
  const text = unquoted(inQuotes);
  return text === undefined || isQuoted(text) ? inQuotes : text;
}

/** Reads what is after the type; names become full by the origin. Whether the values are any good is not looked at. */
export function readData(type: RecordType, words: readonly Word[], origin: string): Data | { fault: string } {
  if (type === "TXT") return words.length === 0 ? { fault: "There is no text" } : { value: textOf(words) };
  const shape = shapes[type];
  if (words.length !== shape.length) {
    const parts = shape.map((part) => (part === "host" ? "a host" : part === "text" ? "a value" : part)).join(", ");
    return { fault: `The data of a record of type ${type} are ${parts}` };
  }
  const data: Data = { value: "" };
  for (const [index, part] of shape.entries()) {
    const word = words[index] ?? "";
    if (part === "host") data.value = inFull(word, origin);
    else if (part === "text") data.value = textOf([word]);
    else if (part === "tag") data.tag = word;
    else if (/^\d{1,9}$/.test(word)) data[part] = Number(word);
    else return { fault: `${part} is not a number` };
  }
  return data;
}
