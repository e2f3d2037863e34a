import { platform } from "../../../shared/core/platform.ts";
import { nameAndAncestors } from "../../../shared/dns/wire-name.ts";
import { zoneAt } from "../../../shared/providers/dns/embedded.ts";
import { delegationOf } from "../../../shared/providers/registrar/embedded-names.ts";
import type { Table } from "../../../shared/table/table.ts";
import { freePort } from "../table/lock.ts";
import { authoritative } from "./authority.ts";
import { externalSuffix, externalZoneAt } from "./external.ts";
import type { ServedRRset } from "./records-wire.ts";
import type { DnsAnswer } from "./respond.ts";
import { recordsOfHost, zoneOfHost } from "./reverse.ts";
import { type DnsServer, type DnsServerOptions, startDnsServer } from "./server.ts";

export type LocalDns = {
  /**
   * The port of the server for the zones of all accounts and for the hosts of dedicated IPs. To ask the server, run
   * `dig @127.0.0.1 -p <port>`.
   */
  port: number;
  /** The environment variables that make the product's resolver use these servers. */
  environment: { DNS_ROOTS: string; DNS_KNOWN: string };
  stop: () => Promise<void>;
};

type DnsOptions = { table: Table; port: number; onError: (source: string, error: unknown) => void };

/**
 * Starts the three servers of the local DNS:
 * - One is authoritative for the zones in the table, and for the hosts of dedicated IPs outside these zones.
 * - One is authoritative for the zones of another DNS host, which the product does not control.
 * - One acts as the root and as all registries, with the delegations of the embedded registry. This server also serves
 *   reverse DNS, like a provider of IP addresses.
 */
export async function startLocalDns({ table, port, onError }: DnsOptions): Promise<LocalDns> {
  const started: DnsServer[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(started.map((server) => server.stop())));
  const start = async (answer: DnsAnswer, options: Pick<DnsServerOptions, "port" | "onBusyPort">): Promise<number> => {
    const server = await startDnsServer({ ...options, answer, onError: (error) => onError("dns", error) });
    started.push(server);
    return server.port;
  };
  const zones = authoritative(async (name) => (await zoneAt(table, name)) ?? zoneOfHost(table, name));
  const registry = registryZones({
    delegationOf: (name) => delegationOf(table, name),
    recordsOf: (name) => recordsOfHost(table, name),
  });
  try {
    const zonesPort = await start(zones, { port, onBusyPort: freePort });
    const externalPort = await start(
      authoritative((name) => externalZoneAt(table, name)),
      { port: 0 },
    );
    const registryPort = await start(registry, { port: 0 });
    const known = { [platform().nsZone]: zonesPort, [externalSuffix]: externalPort };
    return {
      port: zonesPort,
      environment: {
        DNS_ROOTS: `127.0.0.1:${registryPort}`,
        DNS_KNOWN: Object.entries(known)
          .map(([suffix, zonePort]) => `${suffix}=127.0.0.1:${zonePort}`)
          .join(","),
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts the local DNS. The resolver then uses only this DNS and the nameservers in `DNS_KNOWN`. With `DNS_KNOWN`, a
 * developer's own server can have the zone of an external domain. If `DNS_PROVIDER` is not `embedded`, starts nothing,
 * and the port is undefined.
 */
export async function openDns(options: DnsOptions): Promise<{ port: number | undefined; stop: () => Promise<void> }> {
  if (process.env["DNS_PROVIDER"] !== "embedded") return { port: undefined, stop: async () => undefined };
  const dns = await startLocalDns(options);
  const { DNS_KNOWN: own = "" } = process.env;
  const known = [dns.environment.DNS_KNOWN, own].filter((list) => list !== "").join(",");
  Object.assign(process.env, { ...dns.environment, DNS_KNOWN: known });
  return dns;
}

const ttl = 60;

type Registry = {
  /** Returns the nameservers of a delegated name. Returns undefined or an empty list for other names. */
  delegationOf: (name: string) => Promise<readonly string[] | undefined>;
  /** Returns the records of a name that is neither delegated nor below a delegated name. */
  recordsOf?: (name: string) => Promise<readonly ServedRRset[]>;
};

/**
 * Answers like the root and all registries: refers a question about a delegated name to the name's nameservers. Other
 * names have only the records of `recordsOf`.
 */
export function registryZones({ delegationOf, recordsOf = async () => [] }: Registry): DnsAnswer {
  return authoritative(async (name) => {
    for (const ancestor of nameAndAncestors(name)) {
      const hosts = await delegationOf(ancestor);
      if (!hosts?.length) continue;
      const data = hosts.map((host) => ({ type: "NS" as const, host }));
      return { name: "", rrsets: [{ name: ancestor, type: "NS", ttl, data }] };
    }
    return { name: "", rrsets: await recordsOf(name) };
  });
}
