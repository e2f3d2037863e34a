import * as z from "zod";

/** The types of DNS records that a zone of ours can hold. */
export const RecordType = z.enum(["A", "AAAA", "CNAME", "MX", "TXT", "SRV", "CAA", "NS"]);
export type RecordType = z.output<typeof RecordType>;

/**
 * The data of one record, by its type. Names are absolute: A-labels in lower case without a dot at the end. Text is
 * whole: it is cut into character-strings of 255 bytes (RFC 1035 §3.3.14) where it goes on the wire.
 */
export type RecordData =
  | { type: "A" | "AAAA"; address: string }
  | { type: "CNAME" | "NS"; host: string }
  | { type: "MX"; priority: number; host: string }
  | { type: "TXT"; text: string }
  | { type: "SRV"; priority: number; weight: number; port: number; host: string }
  | { type: "CAA"; flags: number; tag: string; value: string };

/** All records of one name and type (RFC 2181 §5), which have one TTL in seconds. A wildcard's name begins with `*.`. */
export type RRset = { name: string; type: RecordType; ttl: number; data: readonly RecordData[] };
