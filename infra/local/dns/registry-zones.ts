import { lineOf } from "../../../shared/dns/wire-name.ts";
import { authoritative } from "./authority.ts";
import type { ServedRRset } from "./records-wire.ts";
import type { DnsAnswer } from "./respond.ts";

const ttl = 60;

type Registry = {
  /** The nameservers of a name that is delegated. */
  delegationOf: (name: string) => Promise<readonly string[] | undefined>;
  /** What there is of a name that is not delegated, and not below one that is. */
  recordsOf?: (name: string) => Promise<readonly ServedRRset[]>;
};

/**
 * The root and all registries in one: what is delegated is referred to its nameservers, and of the rest nothing exists
 * but the records of `recordsOf`.
 */
export function registryZones({ delegationOf, recordsOf = async () => [] }: Registry): DnsAnswer {
  return authoritative(async (name) => {
    for (const ancestor of lineOf(name)) {
      const hosts = await delegationOf(ancestor);
      if (!hosts?.length) continue;
      const data = hosts.map((host) => ({ type: "NS" as const, host }));
      return { name: "", rrsets: [{ name: ancestor, type: "NS", ttl, data }] };
    }
    return { name: "", rrsets: await recordsOf(name) };
  });
}
