import type { Answer } from "dns-packet";

import { rcode } from "../../../shared/dns/message.ts";
import { isWithin } from "../../../shared/dns/wire-name.ts";
import { type ServedRRset, wireRecords, wireSoa } from "./records-wire.ts";
import { bareReply, type DnsAnswer, type DnsQuestion, type DnsReply } from "./respond.ts";
import { matchIn, type DnsZone } from "./zone-match.ts";

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
