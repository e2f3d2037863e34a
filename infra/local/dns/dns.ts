import { platform } from "../../../shared/core/platform.ts";
import { lineOf } from "../../../shared/dns/wire-name.ts";
import { zoneAt } from "../../../shared/providers/dns/embedded.ts";
import { delegationOf } from "../../../shared/providers/registrar/embedded-names.ts";
import type { Table } from "../../../shared/table/table.ts";
import { freePort } from "../table/lock.ts";
import { authoritative } from "./authority.ts";
import type { ServedRRset } from "./records-wire.ts";
import type { DnsAnswer } from "./respond.ts";
import { recordsOfHost, zoneOfHost } from "./reverse.ts";
import { startDnsServer } from "./server.ts";

export type LocalDns = {
  /**
   * The port of the server for the zones of all accounts, and for the reverse DNS of hosts. Use it as in
   * `dig @127.0.0.1 -p <port>`.
   */
  port: number;
  /** The environment variables that point the product's resolver at these servers. */
  environment: { DNS_ROOTS: string; DNS_KNOWN: string };
  stop: () => Promise<void>;
};

type DnsOptions = { table: Table; port: number; onError: (what: string, error: unknown) => void };

/**
 * Starts the DNS of this machine, which is two servers:
 * - One is authoritative for the zones in the table.
 * - The other acts as the root and as all registries, with the delegations of the embedded registry. It also has the
 *   reverse DNS that a provider of IP addresses would have.
 */
export async function startLocalDns({ table, port, onError }: DnsOptions): Promise<LocalDns> {
  const failed = (error: unknown): void => onError("dns", error);
  const zones = await startDnsServer({
    port,
    onBusyPort: freePort,
    answer: authoritative(async (name) => (await zoneAt(table, name)) ?? zoneOfHost(table, name)),
    onError: failed,
  });
  try {
    const answer = registryZones({
      delegationOf: (name) => delegationOf(table, name),
      recordsOf: (name) => recordsOfHost(table, name),
    });
    const registry = await startDnsServer({ port: 0, answer, onError: failed });
    return {
      port: zones.port,
      environment: {
        DNS_ROOTS: `127.0.0.1:${registry.port}`,
        DNS_KNOWN: `${platform().nsZone}=127.0.0.1:${zones.port}`,
      },
      stop: async () => {
        await Promise.all([zones.stop(), registry.stop()]);
      },
    };
  } catch (error) {
    await zones.stop();
    throw error;
  }
}

/**
 * Starts the local DNS and makes the resolver use only this DNS. If the product uses another DNS provider, it starts
 * nothing, and the port is undefined.
 */
export async function openDns(options: DnsOptions): Promise<{ port: number | undefined; stop: () => Promise<void> }> {
  if (process.env["DNS_PROVIDER"] !== "embedded") return { port: undefined, stop: async () => undefined };
  const dns = await startLocalDns(options);
  Object.assign(process.env, dns.environment);
  return dns;
}

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
