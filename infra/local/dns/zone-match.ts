import { isWithin, lineOf } from "../../../shared/dns/wire-name.ts";
import type { ServedRRset } from "./records-wire.ts";

/** A zone with all its records. `serial` is the serial of the SOA, by default 1. */
export type DnsZone = { name: string; serial?: number; rrsets: readonly ServedRRset[] };

/**
 * The result of looking up a name and type in a zone. `rrset` may be the RRset of a wildcard. The records of the
 * wildcard then answer for the queried name.
 */
export type Match =
  | { kind: "delegation"; rrset: ServedRRset }
  | { kind: "alias"; rrset: ServedRRset; target: string }
  | { kind: "data"; rrset: ServedRRset }
  | { kind: "apex_soa" | "none" | "absent" };

/** Whether a name exists: the name or a name below it has records (RFC 4592 §2.2.2). */
const exists = ({ name: apex, rrsets }: DnsZone, name: string): boolean =>
  name === apex || rrsets.some((rrset) => isWithin(rrset.name, name));

/**
 * The name whose records answer a question about `name`: the name itself, or the wildcard under its closest encloser
 * (RFC 4592 §3.3.1). Undefined if neither exists.
 */
function sourceOf(zone: DnsZone, name: string): string | undefined {
  if (exists(zone, name)) return name;
  const encloser = lineOf(name).findLast((ancestor) => isWithin(ancestor, zone.name) && exists(zone, ancestor));
  const wildcard = `*.${encloser ?? zone.name}`;
  return exists(zone, wildcard) ? wildcard : undefined;
}

/**
 * The NS records of the highest delegation at or above a name. The zone's apex is not a delegation. A question for DS
 * at the delegation itself belongs to this zone (RFC 4035 §3.1.4.1).
 */
function delegationOf({ name: apex, rrsets }: DnsZone, name: string, type: string): ServedRRset | undefined {
  const line = lineOf(name).filter((ancestor) => ancestor !== apex && isWithin(ancestor, apex));
  const candidates = type === "DS" ? line.filter((ancestor) => ancestor !== name) : line;
  const cut = candidates.find((ancestor) => rrsets.some((rrset) => rrset.name === ancestor && rrset.type === "NS"));
  return rrsets.find((rrset) => rrset.name === cut && rrset.type === "NS");
}

/** Looks up a name in a zone that encloses it (RFC 1034 §4.3.2, step 3). */
export function matchIn(zone: DnsZone, name: string, type: string): Match {
  const delegation = delegationOf(zone, name, type);
  if (delegation) return { kind: "delegation", rrset: delegation };
  const source = sourceOf(zone, name);
  if (source === undefined) return { kind: "absent" };
  if (type === "SOA" && name === zone.name) return { kind: "apex_soa" };
  const own = zone.rrsets.filter((rrset) => rrset.name === source && rrset.data.length > 0);
  // RFC 8482 §4.1: a query for ANY may be answered with one RRset.
  const matching = own.find((rrset) => rrset.type === type || type === "ANY");
  if (matching) return { kind: "data", rrset: matching };
  const aliases = own.flatMap((rrset) =>
    rrset.data.flatMap((one) => (one.type === "CNAME" ? [{ rrset, target: one.host }] : [])),
  );
  return aliases[0] ? { kind: "alias", ...aliases[0] } : { kind: "none" };
}
