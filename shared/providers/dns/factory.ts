import * as z from "zod";

import type { Table } from "../../table/table.ts";
import { lacking, lazy } from "../lazy.ts";
import type { Dns } from "./dns.ts";

const calls = { createZone: true, changeZone: true, isInSync: true, deleteZone: true } as const;

/**
 * The DNS provider that the environment configures. The embedded provider keeps its zones in the table. Open the
 * provider once per process, because it keeps a client open. If no provider is configured, every call throws 409
 * `dns_unavailable`.
 */
export function dnsOf({ DNS_PROVIDER, DNS_DELEGATION_SET }: DnsEnvironment): (table: Table) => Dns {
  if (DNS_PROVIDER === "embedded") {
    return (table) => lazy<Dns>(calls, async () => (await import("./embedded.ts")).embeddedDns(table));
  }
  if (DNS_PROVIDER === undefined) return () => lazy<Dns>(calls, lacking("dns"));
  let made: Dns | undefined;
  const route53 = lazy<Dns>(calls, async () => {
    const { route53Dns } = await import("./route53.ts");
    return (made ??= route53Dns(DNS_DELEGATION_SET === undefined ? {} : { delegationSetId: DNS_DELEGATION_SET }));
  });
  return () => route53;
}

let ofProcess: ReturnType<typeof dnsOf> | undefined;

/** The DNS provider of this process. Reads the environment at the first call, not at import. */
export function dns(table: Table): Dns {
  ofProcess ??= dnsOf(DnsEnvironment.parse(process.env));
  return ofProcess(table);
}

export const DnsEnvironment = z.object({
  DNS_PROVIDER: z.enum(["route53", "embedded"]).optional(),
  /** A reusable delegation set of Route 53, whose nameservers serve all zones. */
  DNS_DELEGATION_SET: z.string().min(1).optional(),
});

export type DnsEnvironment = z.output<typeof DnsEnvironment>;
