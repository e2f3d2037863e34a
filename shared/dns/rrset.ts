import { isIP } from "node:net";

import ipaddr from "ipaddr.js";
import * as z from "zod";

import type { AnsweredRecord } from "./answer.ts";
import type { WireRecord } from "./message.ts";
import { wireName } from "./wire-name.ts";

/** The types of DNS records that our zones can have, besides SOA. */
export const RecordType = z.enum([
  "A",
  "AAAA",
  "CNAME",
  "MX",
  "TXT",
  "SRV",
  "CAA",
  "NS",
  "TLSA",
  "SSHFP",
  "HTTPS",
  "SVCB",
]);
export type RecordType = z.output<typeof RecordType>;

/**
 * The data of one record, by its type. Names are absolute: A-labels in lower case without a final dot. Text is in one
 * piece. Only its written forms, such as the wire format, have character-strings of at most 255 bytes (RFC 1035
 * §3.3.14).
 */
export type RecordData =
  | { type: "A" | "AAAA"; address: string }
  | { type: "CNAME" | "NS"; host: string }
  | { type: "MX"; priority: number; host: string }
  | { type: "TXT"; text: string }
  | { type: "SRV"; priority: number; weight: number; port: number; host: string }
  | { type: "CAA"; flags: number; tag: string; value: string }
  /** The numbers and the hexadecimal text of RFC 6698 §2.2 or RFC 4255 §3.2, with single spaces. */
  | { type: "TLSA" | "SSHFP"; value: string }
  /** The parameters in the form of `svcParamsText`. */
  | { type: "HTTPS" | "SVCB"; priority: number; host: string; params: string };

/** All records of one name and type (RFC 2181 §5), with one TTL in seconds. The name of a wildcard begins with `*.`. */
export type RRset = { name: string; type: RecordType; ttl: number; data: readonly RecordData[] };

/**
 * The type and the data of an `AnsweredRecord`, without its name and TTL. `infer` makes the conditional type apply to
 * each member of the union alone, so that each type keeps the fields of its data.
 */
type ValueData = AnsweredRecord extends infer R ? (R extends AnsweredRecord ? Omit<R, "name" | "ttl"> : never) : never;

/** The text of one TXT record: its character-strings joined (RFC 7208 §3.3). */
function txtValue(data: Extract<WireRecord, { type: "TXT" }>["data"]): string {
  const strings = Array.isArray(data) ? data : [data];
  return Buffer.concat(strings.map((part) => (typeof part === "string" ? Buffer.from(part) : part))).toString("utf8");
}

function dataOf(record: WireRecord): ValueData | undefined {
  switch (record.type) {
    case "A":
      return isIP(record.data) === 4 ? { type: "A", address: record.data } : undefined;
    case "AAAA":
      if (isIP(record.data) !== 6) return undefined;
      return { type: "AAAA", address: ipaddr.IPv6.parse(record.data).toRFC5952String() };
    case "CNAME":
      return withHost(record.data, (host) => ({ type: "CNAME", host }));
    case "NS":
      return withHost(record.data, (host) => ({ type: "NS", host }));
    case "PTR":
      return withHost(record.data, (host) => ({ type: "PTR", host }));
    case "MX":
      return withHost(record.data.exchange, (host) => ({ type: "MX", priority: record.data.preference ?? 0, host }));
    case "SRV": {
      const { priority = 0, weight = 0, port, target } = record.data;
      return withHost(target, (host) => ({ type: "SRV", priority, weight, port, host }));
    }
    case "TXT":
      return { type: "TXT", text: txtValue(record.data) };
    case "CAA": {
      const { flags = 0, tag, value } = record.data;
      return { type: "CAA", flags, tag: tag.toLowerCase(), value };
    }
    default:
      return undefined;
  }
}

function withHost(text: string, data: (host: string) => ValueData): ValueData | undefined {
  const host = wireName(text);
  return host === undefined ? undefined : data(host);
}

/** Reads a record from a message; undefined for other types, and for names or addresses that are invalid. */
export function answeredRecordOf(record: WireRecord): AnsweredRecord | undefined {
  const data = dataOf(record);
  // RFC 2181 §8: a TTL with the highest bit set counts as zero.
  const ttl = (record.ttl ?? 0) > 0x7fffffff ? 0 : (record.ttl ?? 0);
  return data && { name: record.name, ttl, ...data };
}
