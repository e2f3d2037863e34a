import { recordWrites } from "../changes/record.ts";
import { dayMs, later } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import type { DnsCheck } from "./check-dns.ts";
import { type StoredIp, ipById, isProof } from "./dedicated-ip.ts";
import { holdWrite, isOf, isStock, planRelease, readHolders, type HostHolder } from "./holder.ts";
import { addressTaken } from "./register.ts";
import { ipUpdate, ipChange, systemAuthor, type Mover } from "./work.ts";

/**
 * A time about a day later. It varies at random, so that dedicated IPs that were checked together are not always
 * checked together.
 */
const aDayOn = (now: Date): string => later(now, dayMs * (0.9 + Math.random() / 5));

/** The members of a dedicated IP that passed its check. */
export const passedCheck = ({ addresses }: DnsCheck, now: Date) =>
  ({ status: "active", status_reason: null, addresses, failures: 0, due_at: aDayOn(now) }) as const;

/**
 * The writes that give a host a firm hold on its addresses. Throws 409 `ip_taken` for an address with another holder.
 */
export async function planHeld(table: Reader, ip: StoredIp): Promise<Write[]> {
  const ips = ip.addresses.map((address) => address.ip);
  const holders = await readHolders(table, ips);
  return ips.map((one, index) => {
    const holder = holders[index];
    if (holder && !isOf(holder, ip)) throw addressTaken(one);
    return holdWrite(one, ip, holder);
  });
}

/**
 * Takes over the addresses that a host has just proved, from hosts of other accounts that do not prove them any more.
 * Such a rival returns to `pending_authorization`. Both hosts publish their proof at the same name, so `check` has the
 * texts of the rival too. Throws 409 `ip_taken` if an address is in stock, or if its rival still proves the address or
 * was suspended while it was active.
 */
export async function takeFromRivals(ip: StoredIp, check: DnsCheck, { table, commit, now }: Mover): Promise<void> {
  const ips = ip.addresses.map((address) => address.ip);
  const holders = await readHolders(table, ips);
  for (const [index, holder] of holders.entries()) {
    const address = ips[index] ?? "";
    if (!holder || isOf(holder, ip)) continue;
    if (isStock(holder)) throw addressTaken(address);
    await commit(async () => ({
      value: undefined,
      writes: await planTakeover(table, holder, { ip: address, texts: check.texts.get(address) ?? [] }, now()),
      changes: [],
      housekeeping: true,
      partial: true,
    }));
  }
}

/** An address, and the texts published at its name. */
type Contested = { ip: string; texts: readonly string[] };

/**
 * Whether a host with a firm hold keeps an address: it publishes the hash of its key there, or the operator suspended it
 * while it was active.
 */
const keeps = ({ status, key_hash }: StoredIp, { texts }: Contested): boolean =>
  status !== "active" || texts.some((text) => isProof(text, key_hash ?? ""));

/**
 * Plans to take all addresses from a host that cannot keep the contested address. Plans nothing if the host does not
 * hold the contested address any more.
 */
async function planTakeover(
  table: Reader,
  { account_id, dedicated_ip_id }: HostHolder,
  contested: Contested,
  now: Date,
): Promise<Write[]> {
  const { ip } = contested;
  const rival = await ipById(table, account_id, dedicated_ip_id);
  const [held] = await readHolders(table, [ip]);
  if (!rival || !held || isStock(held) || !isOf(held, { account_id, id: dedicated_ip_id })) return [];
  if (held.firm && keeps(rival, contested)) throw addressTaken(ip);
  const status_reason = `Another account proved that ${ip} is theirs.`;
  const { after, writes } = ipUpdate(rival, {
    ...(rival.status === "suspended"
      ? { suspended_from: "pending_authorization" }
      : { status: "pending_authorization", status_reason }),
    key_hash: undefined,
    key_issued_at: undefined,
    failures: 0,
    due_at: null,
    updated_at: now.toISOString(),
  });
  const ips = rival.addresses.map((address) => address.ip);
  return [
    ...writes,
    ...(await planRelease(table, rival, ips)),
    ...recordWrites(account_id, [ipChange("taken_over", rival, after)], systemAuthor(), now),
  ];
}
