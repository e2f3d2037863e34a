import type { Answer } from "dns-packet";

import { rcode } from "../../../shared/dns/message.ts";
import { isWithin, nameAndAncestors } from "../../../shared/dns/wire-name.ts";
import { type ServedRRset, wireRecords, wireSoa } from "./records-wire.ts";
import { bareReply, type DnsAnswer, type DnsQuestion, type DnsReply } from "./respond.ts";

/** A zone with all its records. `serial` is the serial of the SOA, by default 1. */
export type DnsZone = { name: string; serial?: number; rrsets: readonly ServedRRset[] };

/**
 * The result of looking up a name and type in a zone. `rrset` may be the RRset of a wildcard. The records of the
 * wildcard then answer for the queried name.
 * - `delegation`: the name is at or below a delegation.
 * - `alias`: the name has a CNAME record, and the question is for another type.
 * - `data`: the name has records of the type.
 * - `apex_soa`: the question is for the SOA of the zone.
 * - `none`: the name exists, but has neither a record of the type nor a CNAME record.
 * - `absent`: the name does not exist.
 */
type Match =
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
  const encloser = nameAndAncestors(name).findLast(
    (ancestor) => isWithin(ancestor, zone.name) && exists(zone, ancestor),
  );
  const wildcard = `*.${encloser ?? zone.name}`;
  return exists(zone, wildcard) ? wildcard : undefined;
}

/**
 * The NS records of the highest delegation at or above a name. The zone's apex is not a delegation. A question for DS
 * at the delegation itself belongs to this zone (RFC 4035 §3.1.4.1).
 */
function delegationOf({ name: apex, rrsets }: DnsZone, name: string, type: string): ServedRRset | undefined {
  const line = nameAndAncestors(name).filter((ancestor) => ancestor !== apex && isWithin(ancestor, apex));
  const candidates = type === "DS" ? line.filter((ancestor) => ancestor !== name) : line;
  const cut = candidates.find((ancestor) => rrsets.some((rrset) => rrset.name === ancestor && rrset.type === "NS"));
  return rrsets.find((rrset) => rrset.name === cut && rrset.type === "NS");
}

/** Looks up a name in a zone that encloses it (RFC 1034 §4.3.2, step 3). */
function matchIn(zone: DnsZone, name: string, type: string): Match {
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

const maxAliases = 8;

/** The A and AAAA records in the zone for the hosts in an RRset. */
function addressesOf({ rrsets }: DnsZone, { data }: ServedRRset): Answer[] {
  const hosts = new Set(data.flatMap((one) => ("host" in one && one.type !== "CNAME" ? [one.host] : [])));
  return rrsets
    .filter(({ name, type }) => hosts.has(name) && (type === "A" || type === "AAAA"))
    .flatMap((rrset) => wireRecords(rrset));
}

function soaOfZone({ name, rrsets, serial = 1 }: DnsZone): Answer {
  const nameservers = rrsets.find((rrset) => rrset.name === name && rrset.type === "NS");
  const [first] = nameservers?.data ?? [];
  return wireSoa({ zone: name, nameserver: first && "host" in first ? first.host : name, serial });
}

/** Answers a question from a zone. Follows up to eight CNAMEs inside the zone. */
function replyFrom(zone: DnsZone, question: DnsQuestion): DnsReply {
  const answers: Answer[] = [];
  const soa = soaOfZone(zone);
  const reply: DnsReply = { ...bareReply(rcode.noError), isAuthoritative: true, answers };
  let { name } = question;
  for (let aliases = 0; aliases <= maxAliases && isWithin(name, zone.name); aliases += 1) {
    const match = matchIn(zone, name, question.type);
    switch (match.kind) {
      case "data":
        answers.push(...wireRecords(match.rrset, name));
        return { ...reply, additionals: addressesOf(zone, match.rrset) };
      case "alias":
        answers.push(...wireRecords(match.rrset, name));
        name = match.target;
        break;
      case "delegation": {
        const authorities = wireRecords(match.rrset);
        // The flag AA is about the name of the first answer (RFC 1035 §4.1.1). If there are answers, they are aliases
        // from this zone, so the flag is set.
        const isAuthoritative = answers.length > 0;
        return { ...reply, isAuthoritative, authorities, additionals: addressesOf(zone, match.rrset) };
      }
      case "apex_soa":
        return { ...reply, answers: [...answers, soa] };
      case "none":
        return { ...reply, authorities: [soa] };
      case "absent":
        return { ...reply, rcode: rcode.nxDomain, authorities: [soa] };
    }
  }
  return reply;
}

/**
 * Answers authoritatively for all zones. `zoneOf` returns the closest zone that encloses a name, with all its RRsets.
 * Refuses a question about a name outside all zones.
 */
export function authoritative(zoneOf: (name: string) => Promise<DnsZone | undefined>): DnsAnswer {
  return async (question) => {
    const zone = await zoneOf(question.name);
    return zone ? replyFrom(zone, question) : bareReply(rcode.refused);
  };
}
