import { rcode } from "../../shared/dns/message.ts";
import { lineOf } from "../../shared/dns/wire-name.ts";
import { soaOf, wireRecords } from "./dns-records-wire.ts";
import { bareReply } from "./dns-reply.ts";
import type { DnsAnswer } from "./dns-respond.ts";

const ttl = 60;

/**
 * The root and all registries in one: what is delegated, by the nameservers that `delegationOf` names, is referred
 * there, and nothing else exists.
 */
export function registryZones(delegationOf: (name: string) => Promise<readonly string[] | undefined>): DnsAnswer {
  return async ({ name, type }) => {
    for (const ancestor of lineOf(name)) {
      const hosts = await delegationOf(ancestor);
      if (!hosts?.length) continue;
      const data = hosts.map((host) => ({ type: "NS" as const, host }));
      return { ...bareReply(rcode.noError), authorities: wireRecords({ name: ancestor, type: "NS", ttl, data }) };
    }
    const soa = soaOf("", ".", 1);
    const reply = { ...bareReply(name === "" ? rcode.noError : rcode.nxDomain), isAuthoritative: true };
    return name === "" && type === "SOA" ? { ...reply, answers: [soa] } : { ...reply, authorities: [soa] };
  };
}
