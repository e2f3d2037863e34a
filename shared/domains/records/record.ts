import type { RRset, RecordData, RecordType } from "../../dns/rrset.ts";
import { absoluteName } from "./names.ts";

/** The members of a record in addition to its name, type and value. A record has only the members of its type. */
export type Members = {
  /** In seconds, 60 to 86400. */
  ttl: number;
  /** MX, SRV, HTTPS and SVCB: 0 to 65535. The host with the lowest priority is tried first. */
  priority?: number;
  /** SRV: 0 to 65535. The share of this host among the records of the same priority. */
  weight?: number;
  /** SRV: 0 to 65535. */
  port?: number;
  /** CAA: 0, or 128 for critical. */
  flags?: number;
  /** CAA: the name of the property. */
  tag?: string;
};

/**
 * A DNS record in its normal form.
 * - All names, also in `value`, are lower-case A-labels without a final dot.
 * - `name` is relative to the zone: `@`, `www`, `*.sub`.
 * - Hosts in `value` are absolute. The value `.` of an MX or SRV record says that there is no host. The target `.` of
 *   an HTTPS or SVCB record stands for the record's own name.
 * - The value of a TXT record is its whole text.
 * - The value of an HTTPS or SVCB record is its target and, after a space, its parameters in presentation format.
 */
export type ParsedRecord = { name: string; type: RecordType; value: string } & Members;

/** A DNS record as a customer writes it. The types of its members are checked, their values are not. */
export type RecordInput = { name: string; type: RecordType; value: string } & {
  [Member in keyof Members]?: Members[Member] | undefined;
};

/** The reason why one member is invalid, as a text for people without its final period. */
export type RecordFault = { member: "name" | "value" | keyof Members; message: string };

/** The host name in a record's value; the root, `.`, becomes the empty name. */
const hostOf = (value: string): string => (value === "." ? "" : value);

/** The data of a record for the zone. The host `.` becomes the empty name. */
export function dataOf({
  type,
  value,
  priority = 0,
  weight = 0,
  port = 0,
  flags = 0,
  tag = "",
}: ParsedRecord): RecordData {
  switch (type) {
    case "A":
    case "AAAA":
      return { type, address: value };
    case "CNAME":
    case "NS":
      return { type, host: value };
    case "MX":
      return { type, priority, host: hostOf(value) };
    case "SRV":
      return { type, priority, weight, port, host: hostOf(value) };
    case "TXT":
      return { type, text: value };
    case "TLSA":
    case "SSHFP":
      return { type, value };
    case "HTTPS":
    case "SVCB": {
      const [target = ""] = value.split(" ", 1);
      return { type, priority, host: hostOf(target), params: value.slice(target.length).trimStart() };
    }
    default:
      return { type, flags, tag, value };
  }
}

/**
 * The RRsets of a zone's records, in the order in which their first records come. The TTL of an RRset is the lowest TTL
 * of its records.
 */
export function rrsetsOf(records: readonly ParsedRecord[], zone: string): RRset[] {
  const sets = Map.groupBy(records, ({ name, type }) => `${type} ${name}`);
  return [...sets.values()].flatMap((members) => {
    const [first] = members;
    if (!first) return [];
    const ttl = Math.min(...members.map((record) => record.ttl));
    return [{ name: absoluteName(first.name, zone), type: first.type, ttl, data: members.map(dataOf) }];
  });
}

/**
 * The limits of one RRset: the number of its records, and the bytes of all their values together. Route 53 allows 400
 * records in an RRset. The values in a request to Route 53 can have 32,000 characters, and the values of an RRset that
 * is put count twice. So the values of one RRset can have 16,000 characters there, and `bytes` is below this number.
 */
export const rrsetLimits = { records: 400, bytes: 12_000 };

/**
 * Explains why the RRset of a record would be too large, as a text for people without its final period; undefined if
 * the RRset fits. `others` may have records of other names and types, and must not include the record itself.
 */
export function sizeFault(record: ParsedRecord, others: readonly ParsedRecord[]): string | undefined {
  const set = [record, ...others.filter(({ name, type }) => name === record.name && type === record.type)];
  if (set.length > rrsetLimits.records) return `A name can have ${rrsetLimits.records} records of one type at most`;
  const bytes = set.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
  if (bytes <= rrsetLimits.bytes) return undefined;
  return `All values of one name and type can have ${rrsetLimits.bytes} bytes together. With this record they have ${bytes}`;
}
