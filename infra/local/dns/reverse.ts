import { isIP } from "node:net";

import * as z from "zod";

import { holderKey, rdnsKey } from "../../../shared/dedicated-ips/holder.ts";
import { addressAt, reverseName } from "../../../shared/dns/reverse.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Key, Write } from "../../../shared/table/writes.ts";
import type { DnsZone } from "./authority.ts";
import type { ServedRRset } from "./records-wire.ts";

/*
 * Access patterns
 *   the name that was set for an address                 PTR#<ip> / PTR
 *   the addresses and the TXT that were set for a name   RDNS#<name> / PTR
 *   the name of an address in the operator's stock       IP#<ip> / HOLDER     (shared/dedicated-ips/holder.ts)
 *   the stock address with this reverse name             RDNS#<name> / HOLDER (shared/dedicated-ips/holder.ts)
 */
const pointerKey = (ip: string): Key => ({ PK: `PTR#${ip}`, SK: "PTR" });
const hostKey = (name: string): Key => ({ PK: `RDNS#${name}`, SK: "PTR" });

const ReverseName = z.object({ version: z.int(), rdns: z.string() });
const Host = z.object({ version: z.int(), ips: z.array(z.string()), txt: z.string().nullable() });
type Host = z.output<typeof Host>;
const Stock = z.object({ rdns: z.string().optional() });
const StockName = z.object({ ip: z.string() });

const ttl = 60;
const setupPrefix = "_setup.";

/** The reverse DNS of an address on this machine. */
export type ReverseDns = {
  /** The address in its canonical spelling. */
  ip: string;
  /** The name of the address. Null if the address has no name. */
  rdns: string | null;
  /**
   * Whether the name resolves to the address. `forward` has no effect for a name in a delegated domain, because the
   * domain's zone has the records.
   */
  forward: boolean;
  /** The text at `_setup.<rdns>`. */
  txt: string | null;
};

/**
 * A change of reverse DNS. If `txt` is absent, the name `rdns` keeps its text. If `txt` is null, the text of `rdns` is
 * removed.
 */
export type ReverseChange = { ip: string; rdns: string | null; forward?: boolean; txt?: string | null | undefined };

const none: Host = { version: 0, ips: [], txt: null };

/** The write that stores a host. Deletes the host if it has neither addresses nor a text. */
function hostWrite(name: string, before: Host, after: Omit<Host, "version">): Write {
  const condition = before.version === 0 ? ("absent" as const) : { version: before.version };
  if (after.ips.length === 0 && after.txt === null) {
    return before.version === 0
      ? { check: hostKey(name), if: "absent" }
      : { delete: hostKey(name), if: { version: before.version } };
  }
  return { put: { ...hostKey(name), ...after, version: before.version + 1 }, if: condition };
}

/** The write that sets the name of an address, or removes it. */
function pointerWrite(ip: string, version: number | undefined, rdns: string | null): Write {
  if (rdns === null) {
    return version === undefined
      ? { check: pointerKey(ip), if: "absent" }
      : { delete: pointerKey(ip), if: { version } };
  }
  const put = { ...pointerKey(ip), rdns, version: (version ?? 0) + 1 };
  return { put, if: version === undefined ? "absent" : { version } };
}

/**
 * Sets or removes the name of an address. Acts both for the provider of the address, who sets the PTR record, and for
 * the owner of the host, who sets the host's addresses and the text at `_setup`. The new name resolves to the address
 * only with `forward`. A former name stops resolving to the address. If the former name then has no addresses, its text
 * is removed too.
 */
export function setReverseDns(table: Table, { ip, rdns, forward = false, txt }: ReverseChange): Promise<void> {
  return table.commit(async () => {
    const pointer = await table.get(pointerKey(ip), ReverseName);
    const hostOf = async (name: string): Promise<Host> => (await table.get(hostKey(name), Host)) ?? none;
    const writes = [pointerWrite(ip, pointer?.version, rdns)];
    if (pointer && pointer.rdns !== rdns) {
      const former = await hostOf(pointer.rdns);
      const ips = former.ips.filter((one) => one !== ip);
      writes.push(hostWrite(pointer.rdns, former, { ips, txt: ips.length === 0 ? null : former.txt }));
    }
    if (rdns !== null) {
      const host = await hostOf(rdns);
      const others = host.ips.filter((one) => one !== ip);
      const after = { ips: forward ? [...others, ip] : others, txt: txt === undefined ? host.txt : txt };
      writes.push(hostWrite(rdns, host, after));
    }
    return { value: undefined, writes };
  });
}

/** The name that was set for an address. If no name was set, the name in the operator's stock. */
async function shownName(table: Table, ip: string): Promise<string | undefined> {
  const [pointer, stock] = await table.getMany([pointerKey(ip), holderKey(ip)]);
  if (pointer) return ReverseName.parse(pointer).rdns;
  return stock && Stock.parse(stock).rdns;
}

/** The addresses and the text that were set for a host. If nothing was set, the address in the operator's stock. */
async function hostAt(table: Table, name: string): Promise<Omit<Host, "version">> {
  const [host, stock] = await table.getMany([hostKey(name), rdnsKey(name)]);
  if (host) return Host.parse(host);
  return stock ? { ips: [StockName.parse(stock).ip], txt: null } : none;
}

/** Reads the reverse DNS of an address. `ip` must have its canonical spelling. */
export async function readReverseDns(table: Table, ip: string): Promise<ReverseDns> {
  const rdns = await shownName(table, ip);
  if (rdns === undefined) return { ip, rdns: null, forward: false, txt: null };
  const { ips, txt } = await hostAt(table, rdns);
  return { ip, rdns, forward: ips.includes(ip), txt };
}

const addressSet = (name: string, type: "A" | "AAAA", ips: readonly string[]): ServedRRset => ({
  name,
  type,
  ttl,
  data: ips.map((address) => ({ type, address })),
});

/** The records of an address's reverse name, of a host, or of a host's `_setup` name. Empty for other names. */
export async function recordsOfHost(table: Table, name: string): Promise<ServedRRset[]> {
  const ip = addressAt(name);
  if (ip !== undefined) {
    const host = await shownName(table, ip);
    return host === undefined ? [] : [{ name: reverseName(ip), type: "PTR", ttl, data: [{ type: "PTR", host }] }];
  }
  if (name.startsWith(setupPrefix)) {
    const { txt: text } = await hostAt(table, name.slice(setupPrefix.length));
    return text === null ? [] : [{ name, type: "TXT", ttl, data: [{ type: "TXT", text }] }];
  }
  const { ips } = await hostAt(table, name);
  const [four, six] = [ips.filter((one) => isIP(one) === 4), ips.filter((one) => isIP(one) === 6)];
  return [addressSet(name, "A", four), addressSet(name, "AAAA", six)].filter(({ data }) => data.length > 0);
}

/**
 * The records of a name outside all zones. The zone in the result has the root's name "". Undefined if the name has no
 * records.
 */
export async function zoneOfHost(table: Table, name: string): Promise<DnsZone | undefined> {
  const rrsets = await recordsOfHost(table, name);
  return rrsets.length > 0 ? { name: "", rrsets } : undefined;
}
