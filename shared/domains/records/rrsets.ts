import type { RecordData, RRset } from "../../dns/rrset.ts";
import { absoluteName } from "./record-name.ts";
import type { ParsedRecord } from "./record.ts";

/** A host of a value as names are everywhere: the root, `.`, is the empty name. */
const hostOf = (value: string): string => (value === "." ? "" : value);

/** The data of a record, as it goes into a zone. The host of a null MX or SRV record (`.`) is the empty name. */
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
    default:
      return { type, flags, tag, value };
  }
}

/** The RRsets of a zone's records, in the order of each one's first record; a set's TTL is the lowest of its records. */
export function rrsetsOf(records: readonly ParsedRecord[], zone: string): RRset[] {
  const sets = Map.groupBy(records, ({ name, type }) => `${type} ${name}`);
  return [...sets.values()].flatMap((members) => {
    const [first] = members;
    if (!first) return [];
    const ttl = Math.min(...members.map((record) => record.ttl));
    return [{ name: absoluteName(first.name, zone), type: first.type, ttl, data: members.map(dataOf) }];
  });
}
