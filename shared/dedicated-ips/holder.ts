import * as z from "zod";

import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * There is one item for each address that is in the operator's stock, or that an account has proved to own. An address
 * that an account has only registered has no item, so that registering alone does not block other accounts.
 *
 * Access patterns
 *   the holder of an address: the operator or an account         IP#<address> / HOLDER
 *   the stock address with this reverse name                     RDNS#<name> / HOLDER
 */
export const holderKey = (ip: string): Key => ({ PK: `IP#${ip}`, SK: "HOLDER" });
export const rdnsKey = (name: string): Key => ({ PK: `RDNS#${name}`, SK: "HOLDER" });

export const StockState = z.enum(["free", "taken", "resting", "faulty"]);

/**
 * An address in the operator's stock. After a dedicated IP used it, it is `resting`; if its reverse DNS could not be
 * confirmed, it is `faulty`.
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
 * A customer's own host that holds an address. Another host that proves the address takes it over. If the hold is
 * `firm`, this happens only if the present holder does not prove the address any more.
 */
const HostHolder = z.object({ account_id: z.string(), dedicated_ip_id: z.string(), firm: z.boolean() });
export type HostHolder = z.output<typeof HostHolder>;

export const Holder = z.union([StockHolder, HostHolder]);
export type Holder = z.output<typeof Holder>;

export const isStock = (holder: Holder): holder is StockHolder => "option_id" in holder;

/** The holders of addresses, in the same order; undefined for an address without a holder. */
export async function readHolders(table: Reader, ips: readonly string[]): Promise<(Holder | undefined)[]> {
  const items = await table.getMany(ips.map(holderKey));
  return items.map((item) => (item ? Holder.parse(item) : undefined));
}

export const readHolder = async (table: Reader, ip: string): Promise<Holder | undefined> =>
  (await readHolders(table, [ip]))[0];

/** Whether the hold on the address is so strong that the operator cannot add the address to the stock. */
export const isFirm = (holder: Holder): boolean => isStock(holder) || holder.firm;

type Owner = { account_id: string; id: string };

export const isOf = (holder: Holder | undefined, { account_id, id }: Owner): boolean =>
  holder?.account_id === account_id && holder.dedicated_ip_id === id;

/** The write that gives an address to a host that has proved it. It fails if the holder changed since it was read. */
export const holdWrite = (ip: string, { account_id, id }: Owner, holder: Holder | undefined): Write => ({
  put: { ...holderKey(ip), account_id, dedicated_ip_id: id, firm: true },
  if: holder ? { account_id, dedicated_ip_id: id } : "absent",
});

/** Plans to end the firmness of a host's holds. Skips addresses that the host does not hold. */
export async function planLoosening(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    const own = { account_id: owner.account_id, dedicated_ip_id: owner.id };
    return [{ update: holderKey(ip), set: { firm: false }, if: own }];
  });
}

/** Plans to release the addresses that a host holds. Skips addresses that it does not hold. */
export async function planRelease(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    return [{ delete: holderKey(ip), if: { account_id: owner.account_id, dedicated_ip_id: owner.id } }];
  });
}
