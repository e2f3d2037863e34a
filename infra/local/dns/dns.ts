import { platform } from "../../../shared/core/platform.ts";
import { zoneAt } from "../../../shared/providers/dns/embedded.ts";
import { delegationOf } from "../../../shared/providers/registrar/embedded-names.ts";
import type { Table } from "../../../shared/table/table.ts";
import { freePort } from "../table/lock.ts";
import { authoritative } from "./authority.ts";
import { registryZones } from "./registry-zones.ts";
import { recordsOfHost, zoneOfHost } from "./reverse.ts";
import { startDnsServer } from "./server.ts";

export type LocalDns = {
  /** Where the zones of all accounts are, and the hosts and addresses that are none of them, for `dig @127.0.0.1 -p <port>`. */
  port: number;
  /** What points the product's resolver at these servers. */
  environment: { DNS_ROOTS: string; DNS_KNOWN: string };
  stop: () => Promise<void>;
};

type Options = { table: Table; port: number; onError: (what: string, error: unknown) => void };

/**
 * The DNS on this machine: one server that is authoritative for the zones in the table, and one that plays the root
 * and all registries, by what the embedded registry has delegated, and the providers of addresses with their names.
 */
export async function startLocalDns({ table, port, onError }: Options): Promise<LocalDns> {
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

/** The local DNS where it is what the product uses; its resolver asks nobody else then. Otherwise there is no port. */
export async function openDns(options: Options): Promise<{ port: number | undefined; stop: () => Promise<void> }> {
  if (process.env["DNS_PROVIDER"] !== "embedded") return { port: undefined, stop: async () => undefined };
  const dns = await startLocalDns(options);
  Object.assign(process.env, dns.environment);
  return dns;
}
