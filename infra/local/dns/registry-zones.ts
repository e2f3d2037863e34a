import { lineOf } from "../../../shared/dns/wire-name.ts";
import { authoritative } from "./authority.ts";
import type { ServedRRset } from "./records-wire.ts";
import type { DnsAnswer } from "./respond.ts";

const ttl = 60;

type Registry = {
  /** The nameservers of a delegated name; undefined or empty for other names. */
  delegationOf: (name: string) => Promise<readonly string[] | undefined>;
  /** The records of a name that is neither delegated nor below a delegated one. */
  recordsOf?: (name: string) => Promise<readonly ServedRRset[]>;
};

/**
 * Acts as the root and all registries: refers delegated names to their nameservers. Other names have only the records of
 * `recordsOf`.
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
