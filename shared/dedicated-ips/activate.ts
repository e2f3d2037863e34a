import { recordWrites } from "../changes/record.ts";
import type { Writer } from "../changes/recorder.ts";
import { inAboutADay } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { ipUpdate, ipChange, ipAuthor } from "./change.ts";
import type { DnsCheck } from "./check-dns.ts";
import { type IpVerb, type StoredIp, ipById, isProof } from "./dedicated-ip.ts";
import { addressTaken, holdWrite, isOf, isStock, planRelease, readHolders, type HostHolder } from "./holder.ts";

/**
 * The members that change when a dedicated IP has passed its check. Each address stores the reverse name with which the
 * address passed. A host loses these names when it gets another setup key.
 */
export const passedCheck = ({ addresses }: DnsCheck, now: Date) =>
  ({
    status: "active",
    status_reason: null,
    addresses: addresses.map((one) => (one.rdns === null ? one : { ...one, proved_name: one.rdns })),
    failures: 0,
    due_at: inAboutADay(now),
  }) as const;

/** The verb of the change to record when a host that has this status passes its check. */
export function activationVerb({ status }: Pick<StoredIp, "status">): IpVerb {
  if (status === "degraded") return "recovered";
  return status === "active" ? "updated" : "activated";
}

/**
 * Plans a host's firm hold on its addresses. With a firm hold, another host cannot take an address over while this host
 * still proves the address or is suspended. Throws 409 `ip_taken` for an address with another holder.
 */
export async function planFirmHold(table: Reader, ip: StoredIp): Promise<Write[]> {
  const ips = ip.addresses.map((address) => address.ip);
  const holders = await readHolders(table, ips);
  return ips.map((address, index) => {
    const holder = holders[index];
    if (holder && !isOf(holder, ip)) throw addressTaken(address);
    return holdWrite(address, ip, holder);
  });
}

/**
 * Takes the addresses that a host has just proved from their present holders, the rivals of the host. This function
 * does not give the addresses to the host: the caller must use `planFirmHold` next. A rival that loses one address
 * loses all of its addresses. The rival returns to `pending_authorization`. A suspended rival gets this status when it
 * is resumed. All hosts publish their proof for an address at the same name, so `check` has the texts of a rival too.
 * Throws 409 `ip_taken`:
 * - for an address in the operator's stock;
 * - for an address whose rival has a firm hold, and still publishes its proof or is suspended.
 */
export async function takeFromRivals(ip: StoredIp, check: DnsCheck, { table, commit, now }: Writer): Promise<void> {
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

/** An address that two hosts claim, and the texts published at its name. */
type ContestedAddress = { ip: string; texts: readonly string[] };

/**
 * Whether a host with a firm hold keeps an address. The host keeps the address if it publishes the hash of its key at
 * the address's name, or if it is not active. A host with a firm hold that is not active was suspended by the operator.
 */
const mayKeep = ({ status, key_hash }: StoredIp, { texts }: ContestedAddress): boolean =>
  status !== "active" || texts.some((text) => isProof(text, key_hash ?? ""));

/**
 * Plans to take all addresses from a host that has no right to keep the contested address. Plans nothing if the host
 * does not hold the contested address any more. Throws 409 `ip_taken` if the host may keep the address.
 */
async function planTakeover(
  table: Reader,
  { account_id, dedicated_ip_id }: HostHolder,
  contested: ContestedAddress,
  now: Date,
): Promise<Write[]> {
  const { ip } = contested;
  const rival = await ipById(table, account_id, dedicated_ip_id);
  const [holder] = await readHolders(table, [ip]);
  if (!rival || !holder || isStock(holder) || !isOf(holder, { account_id, id: dedicated_ip_id })) return [];
  if (holder.firm && mayKeep(rival, contested)) throw addressTaken(ip);
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
    ...recordWrites(account_id, [ipChange("taken_over", rival, after)], ipAuthor(), now),
  ];
}
