import type { ResourceRecordSet } from "@aws-sdk/client-route-53";

import type { RecordData, RRset } from "../../dns/rrset.ts";

const longestString = 255;
/** Of one value, escapes and all. */
const longestValue = 4_000;

/** A byte of a string; what is not printable, and what would end the string, by its octal code. */
const written = (byte: number): string =>
  byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
    ? `\\${byte.toString(8).padStart(3, "0")}`
    : String.fromCharCode(byte);

const quoted = (bytes: Buffer): string => `"${Array.from(bytes, written).join("")}"`;

/** Text as character-strings (RFC 1035 §3.3.14), of which there is at least one. */
function stringsOf(text: string): string {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / longestString));
  return Array.from({ length: count }, (_, index) =>
    quoted(bytes.subarray(index * longestString, (index + 1) * longestString)),
  ).join(" ");
}

function unchecked(data: RecordData): string {
  switch (data.type) {
    case "A":
    case "AAAA":
      return data.address;
    case "CNAME":
    case "NS":
      return `${data.host}.`;
    case "MX":
      return `${data.priority} ${data.host}.`;
    case "TXT":
      return stringsOf(data.text);
    case "SRV":
      return `${data.priority} ${data.weight} ${data.port} ${data.host}.`;
    default:
      return `${data.flags} ${data.tag} ${quoted(Buffer.from(data.value))}`;
  }
}

/**
 * The data of a record as Route 53 writes it: RFC 1035 §5.1, but with octal codes
 * (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/ResourceRecordTypes.html). Undefined for one that is longer
 * than Route 53 takes: a text of 2,048 bytes that are mostly not ASCII.
 */
export function valueOf(data: RecordData): string | undefined {
  const value = unchecked(data);
  return value.length <= longestValue ? value : undefined;
}

/** A name as Route 53 reads it. */
export const absolute = (name: string): string => `${name}.`;

/** A name as we write it, of one in Route 53's answers, which have octal codes for all but letters, digits, - and _. */
export const relaxed = (name: string): string =>
  name
    .replace(/\\([0-3][0-7]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
    .replace(/\.$/, "")
    .toLowerCase();

/** An RRset as Route 53 takes it, without the records that are too long for it. */
export const setOf = ({ name, type, ttl, data }: RRset): ResourceRecordSet => ({
  Name: absolute(name),
  Type: type,
  TTL: ttl,
  ResourceRecords: data.flatMap((record) => {
    const Value = valueOf(record);
    return Value === undefined ? [] : [{ Value }];
  }),
});
