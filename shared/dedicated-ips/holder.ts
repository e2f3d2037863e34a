import * as z from "zod";

import { Problem } from "../core/errors.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * Every address in the operator's stock has an item. So has every address that a customer's host has proved, until the
 * host loses or releases the address. An address that an account has only registered has no item, so that an account
 * cannot block an address for other accounts without proof.
 *
 * Access patterns
 *   the holder of an address: the operator or a host of an account   IP#<address> / HOLDER
 *   the stock address with a reverse name                            RDNS#<name> / HOLDER
 */
/** The key of the holder of an address. */
export const holderKey = (ip: string): Key => ({ PK: `IP#${ip}`, SK: "HOLDER" });
/** The key of the item that reserves a reverse name for one address of the stock. */
export const rdnsKey = (name: string): Key => ({ PK: `RDNS#${name}`, SK: "HOLDER" });

export const StockState = z.enum(["free", "taken", "resting", "faulty"]);

/**
 * An address in the operator's stock:
 * - `free`: an account can claim the address;
 * - `taken`: the address belongs to a dedicated IP;
 * - `resting`: a deleted dedicated IP has used the address;
 * - `faulty`: the reverse DNS of the address could not be confirmed.
 */
export const StockHolder = z.object({
  ip: z.string(),
  option_id: z.string(),
  country_code: z.string(),
  asn: z.int(),
  rdns: z.string(),
  relay: z.string(),
  state: StockState,
  account_id: z.string().optional(),
  dedicated_ip_id: z.string().optional(),
});
export type StockHolder = z.output<typeof StockHolder>;

/**
 * A customer's own host that holds an address. Another host takes over the address by proving it. But a holder with a
 * `firm` hold keeps the address as long as the holder proves the address too, or is suspended.
 */
const HostHolder = z.object({ account_id: z.string(), dedicated_ip_id: z.string(), firm: z.boolean() });
export type HostHolder = z.output<typeof HostHolder>;

export const Holder = z.union([StockHolder, HostHolder]);
export type Holder = z.output<typeof Holder>;

/** Whether an address is in the operator's stock. */
export const isStock = (holder: Holder): holder is StockHolder => "option_id" in holder;

/** The 409 for an address that is in the operator's stock, or that a host of another account holds. */
export const addressTaken = (ip: string): Problem =>
  new Problem("ip_taken", `${ip} is taken. The address belongs to another account or to us.`, { ip });

/** Reads the holders of addresses, in the same order; undefined for an address without a holder. */
export async function readHolders(table: Reader, ips: readonly string[]): Promise<(Holder | undefined)[]> {
  const items = await table.getMany(ips.map(holderKey));
  return items.map((item) => (item ? Holder.parse(item) : undefined));
}

/** Reads the holder of an address; undefined if there is none. */
export const readHolder = async (table: Reader, ip: string): Promise<Holder | undefined> =>
  (await readHolders(table, [ip]))[0];

/** Whether an address is in stock or a host holds it firmly. Such an address cannot be added to the stock. */
export const isFirm = (holder: Holder): boolean => isStock(holder) || holder.firm;

type Owner = { account_id: string; id: string };

/** Whether the holder is this dedicated IP. */
export const isOf = (holder: Holder | undefined, { account_id, id }: Owner): boolean =>
  holder?.account_id === account_id && holder.dedicated_ip_id === id;

/**
 * The write that gives a host a firm hold on an address. `holder` is the present holder: this host, or undefined. The
 * write fails if the address has another holder when the write is made.
 */
export const holdWrite = (ip: string, { account_id, id }: Owner, holder: Holder | undefined): Write => ({
  put: { ...holderKey(ip), account_id, dedicated_ip_id: id, firm: true },
  if: holder ? { account_id, dedicated_ip_id: id } : "absent",
});

/** Plans that a host's holds on addresses are no longer firm. Skips addresses that the host does not hold. */
export async function planLoosening(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    const ownHold = { account_id: owner.account_id, dedicated_ip_id: owner.id };
    return [{ update: holderKey(ip), set: { firm: false }, if: ownHold }];
  });
}

/** Plans to release addresses that a host holds. Skips addresses that the host does not hold. */
export async function planRelease(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    return [{ delete: holderKey(ip), if: { account_id: owner.account_id, dedicated_ip_id: owner.id } }];
  });
}
