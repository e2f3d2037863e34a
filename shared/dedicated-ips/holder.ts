import * as z from "zod";

import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * One item per address that an account has proved, or that the operator has. An address that an account only claims has
 * no item, so that a claim alone blocks nobody.
 *
 * Access patterns
 *   the holder of an address, of all accounts and the operator   IP#<address> / HOLDER
 *   the address of the stock that has a name                     RDNS#<name> / HOLDER
 */
export const holderKey = (ip: string): Key => ({ PK: `IP#${ip}`, SK: "HOLDER" });
export const rdnsKey = (name: string): Key => ({ PK: `RDNS#${name}`, SK: "HOLDER" });

export const StockState = z.enum(["free", "taken", "resting", "faulty"]);

/** An address of the operator's: `resting` after a dedicated IP used it, `faulty` when it could not be confirmed. */
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
 * A customer's own host that holds an address. Anybody else who proves the address can take it; when the hold is firm,
 * only if the host does not prove it any more.
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

/** Whether the holder keeps its address from being put into the stock. */
export const isFirm = (holder: Holder): boolean => isStock(holder) || holder.firm;

type Owner = { account_id: string; id: string };

export const isOf = (holder: Holder | undefined, { account_id, id }: Owner): boolean =>
  holder?.account_id === account_id && holder.dedicated_ip_id === id;

/** The write that gives an address to a host that has proved it, provided its holder is still the one that was read. */
export const holdWrite = (ip: string, { account_id, id }: Owner, holder: Holder | undefined): Write => ({
  put: { ...holderKey(ip), account_id, dedicated_ip_id: id, firm: true },
  if: holder ? { account_id, dedicated_ip_id: id } : "absent",
});

/** The writes that loosen a host's hold on its addresses; addresses that it does not hold are skipped. */
export async function planLoosened(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    const own = { account_id: owner.account_id, dedicated_ip_id: owner.id };
    return [{ update: holderKey(ip), set: { firm: false }, if: own }];
  });
}

/** The writes that release all addresses held by a host. */
export async function planLetGo(table: Reader, owner: Owner, ips: readonly string[]): Promise<Write[]> {
  const holders = await readHolders(table, ips);
  return ips.flatMap((ip, index) => {
    if (!isOf(holders[index], owner)) return [];
    return [{ delete: holderKey(ip), if: { account_id: owner.account_id, dedicated_ip_id: owner.id } }];
  });
}
