import * as z from "zod";

import type { RecordType, RRset } from "../dns/rrset.ts";
import type { Table } from "../table/table.ts";

/** What becomes of one RRset of a zone: it is replaced whole, or it is gone. */
export type ZoneChange = { put: RRset } | { remove: { name: string; type: RecordType } };

export type ZoneChanged = {
  changeId: string;
  isInSync: boolean;
  refused?: readonly { name: string; type: RecordType }[];
};

/**
 * Hosts zones (RFC 1034 §4.2). Everything may be asked again after a lost answer. What cannot be done now throws 503
 * `upstream_unavailable`.
 */
export type Dns = {
  /**
   * Makes the zone of a name, with these nameservers as its apex NS RRset, or finds the one made with the same
   * reference. Throws `ZoneExists` while a zone of that name made with another reference is still there.
   */
  createZone: (input: {
    name: string;
    reference: string;
    nameservers: readonly string[];
  }) => Promise<{ zoneId: string }>;
  /**
   * Makes all changes (1 to 200 RRsets) or none; done again it comes to the same. Answers whether all servers have it,
   * and which RRsets have a record that the provider cannot hold, which is left out.
   */
  changeZone: (zoneId: string, changes: readonly ZoneChange[]) => Promise<ZoneChanged>;
  /** Whether all servers have a change by now. */
  isInSync: (changeId: string) => Promise<boolean>;
  /** Removes a zone and all that is in it; one that is gone is fine. */
  deleteZone: (zoneId: string) => Promise<void>;
};

/** A zone of the same name, made with another reference, is in the way. */
export class ZoneExists extends Error {}

/** The TTL of the apex NS RRset of every zone, in seconds. */
export const apexTtlSeconds = 86_400;

export const DnsEnvironment = z.object({
  DNS_PROVIDER: z.enum(["route53", "embedded"]).optional(),
  /** A reusable delegation set of Route 53, whose nameservers all zones are on. */
  DNS_DELEGATION_SET: z.string().min(1).optional(),
});
export type DnsEnvironment = z.output<typeof DnsEnvironment>;

async function missing(): Promise<never> {
  throw new Error("There is nothing to host zones: set DNS_PROVIDER to route53 or embedded.");
}

/** The hosting that is loaded by its first use, as most functions never have one. */
const whenUsed = (load: () => Promise<Dns>): Dns => ({
  createZone: async (input) => (await load()).createZone(input),
  changeZone: async (zoneId, changes) => (await load()).changeZone(zoneId, changes),
  isInSync: async (changeId) => (await load()).isInSync(changeId),
  deleteZone: async (zoneId) => (await load()).deleteZone(zoneId),
});

/**
 * The DNS hosting of an environment, over the table that the embedded one keeps its zones in; make it once for each
 * process, as it keeps a client. Without a provider in the environment its first use throws, not this.
 */
export function dnsOf({ DNS_PROVIDER, DNS_DELEGATION_SET }: DnsEnvironment): (table: Table) => Dns {
  if (DNS_PROVIDER === "embedded") {
    return (table) => whenUsed(async () => (await import("./dns-embedded.ts")).embeddedDns(table));
  }
  if (DNS_PROVIDER === undefined) return () => whenUsed(missing);
  let made: Dns | undefined;
  const route53 = whenUsed(async () => {
    const { route53Dns } = await import("./dns-route53.ts");
    return (made ??= route53Dns(DNS_DELEGATION_SET === undefined ? {} : { delegationSetId: DNS_DELEGATION_SET }));
  });
  return () => route53;
}

let ofProcess: ReturnType<typeof dnsOf> | undefined;

/** The DNS hosting of this process, from its environment, which it needs from the first call on, not at import. */
export function dns(table: Table): Dns {
  ofProcess ??= dnsOf(DnsEnvironment.parse(process.env));
  return ofProcess(table);
}
