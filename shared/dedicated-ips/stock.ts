import * as z from "zod";

import { Problem } from "../core/errors.ts";
import type { Range } from "../table/reads.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { holderKey, isFirm, isStock, rdnsKey, readHolder, StockHolder } from "./holder.ts";

/*
 * The operator's addresses. An option is a group of addresses with the same country and autonomous system. There is no
 * counter of free addresses, because all concurrent claims would have to write this counter. The free addresses are
 * counted from their items.
 *
 * Access patterns
 *   an option by its id                                    IP_STOCK / OPTION#<option>
 *   the free addresses, of all options or of one option    IP_STOCK / FREE#<option>#<address>
 *   all addresses of the stock                             IP_STOCK / ALL#<option>#<address>
 */
const stock = "IP_STOCK";
/** The key of an option. */
export const optionKey = (optionId: string): Key => ({ PK: stock, SK: `OPTION#${optionId}` });
const freeKey = (optionId: string, ip: string): Key => ({ PK: stock, SK: `FREE#${optionId}#${ip}` });
const allKey = (optionId: string, ip: string): Key => ({ PK: stock, SK: `ALL#${optionId}#${ip}` });

/** An option. It exists as long as the stock has addresses of the option, free or not; `addresses` is their number. */
export const StoredOption = z.object({
  option_id: z.string(),
  country_code: z.string(),
  asn: z.int(),
  addresses: z.int(),
});
type StoredOption = z.output<typeof StoredOption>;

/**
 * The write that changes the number of an option's addresses by one. Creates an option with its first address, and
 * deletes an option with its last address.
 */
function optionWrite(option: StoredOption | undefined, details: Omit<StoredOption, "addresses">, by: 1 | -1): Write {
  const key = optionKey(details.option_id);
  if (!option) return { put: { ...key, ...details, addresses: 1 }, if: "absent" };
  const asRead = { addresses: option.addresses };
  if (option.addresses + by === 0) return { delete: key, if: asRead };
  return { update: key, add: { addresses: by }, if: asRead };
}

/** An item that refers to an address of the stock: in the list of the free addresses, or in the list of all. */
const StockPointer = z.object({ ip: z.string(), option_id: z.string() });

export type NewStock = Pick<StockHolder, "ip" | "option_id" | "country_code" | "asn" | "rdns" | "relay">;

/**
 * Adds a free address to the stock. Adding the same address again changes nothing. Throws 409 `ip_taken`:
 * - if the address is in stock with other details, or if a customer's host has a firm hold on it (`HostHolder`);
 * - if the reverse name is the name of another address;
 * - if the addresses of the option have another country or autonomous system.
 */
export function addStock(table: Table, input: NewStock): Promise<StockHolder> {
  const { ip, option_id, country_code, asn, rdns } = input;
  const added: StockHolder = { ...input, state: "free" };
  return table.commit(async () => {
    const [holder, option, name] = await Promise.all([
      readHolder(table, ip),
      table.get(optionKey(option_id), StoredOption),
      table.get(rdnsKey(rdns), z.object({ ip: z.string() })),
    ]);
    if (holder && isStock(holder) && isSameStock(holder, input)) return { value: holder, writes: [] };
    if (holder && isFirm(holder)) throw new Problem("ip_taken", `${ip} is already in stock, or belongs to a customer.`);
    if (name && name.ip !== ip) throw new Problem("ip_taken", `${rdns} is already the name of ${name.ip}.`);
    if (option && (option.country_code !== country_code || option.asn !== asn)) {
      throw new Problem(
        "ip_taken",
        `The option ${option_id} is for addresses in ${option.country_code}, AS${option.asn}.`,
      );
    }
    const pointer = { ip, option_id };
    return {
      value: added,
      writes: [
        {
          put: { ...holderKey(ip), ...added },
          // A host whose hold is not firm loses the address. The next check of the host notices this.
          if: holder ? { account_id: holder.account_id ?? "", firm: false } : "absent",
        },
        { put: { ...rdnsKey(rdns), ip }, if: name ? { ip } : "absent" },
        optionWrite(option, { option_id, country_code, asn }, 1),
        { put: { ...freeKey(option_id, ip), ...pointer } },
        { put: { ...allKey(option_id, ip), ...pointer } },
      ],
    };
  });
}

const isSameStock = (holder: StockHolder, input: NewStock): boolean =>
  (["option_id", "country_code", "asn", "rdns", "relay"] as const).every((name) => holder[name] === input[name]);

/** Reads an address of the stock. Throws an Error, with a message for the operator, if the address is not in stock. */
async function stockAt(table: Reader, ip: string): Promise<StockHolder> {
  const holder = await readHolder(table, ip);
  if (!holder || !isStock(holder)) throw new Error(`${ip} is not in stock.`);
  return holder;
}

/** Makes a resting or faulty address free again. Throws 409 `ip_in_use` for a taken address. */
export function returnStock(table: Table, ip: string): Promise<StockHolder> {
  return table.commit(async () => {
    const holder = await stockAt(table, ip);
    if (holder.state === "free") return { value: holder, writes: [] };
    if (holder.state === "taken") throw new Problem("ip_in_use", `${ip} belongs to the account ${holder.account_id}.`);
    const { option_id, state } = holder;
    return {
      value: { ...holder, state: "free" as const },
      writes: [
        { update: holderKey(ip), set: { state: "free" }, if: { state } },
        { put: { ...freeKey(option_id, ip), ip, option_id } },
      ],
    };
  });
}

/** Removes an address from the stock. Throws 409 `ip_in_use` for a taken address. */
export function withdrawStock(table: Table, ip: string): Promise<StockHolder> {
  return table.commit(async () => {
    const holder = await stockAt(table, ip);
    if (holder.state === "taken") throw new Problem("ip_in_use", `${ip} belongs to the account ${holder.account_id}.`);
    const { option_id, state, rdns } = holder;
    const option = await table.get(optionKey(option_id), StoredOption);
    return {
      value: holder,
      writes: [
        ...(option ? [optionWrite(option, option, -1)] : []),
        { delete: holderKey(ip), if: { state } },
        { delete: rdnsKey(rdns) },
        { delete: freeKey(option_id, ip) },
        { delete: allKey(option_id, ip) },
      ],
    };
  });
}

/** The addresses of the stock; with `option` or `state`, only the addresses of this option or in this state. */
export async function listStock(
  table: Reader,
  { option, state }: { option?: string | undefined; state?: string | undefined },
): Promise<StockHolder[]> {
  const { PK, SK } = allKey(option ?? "", "");
  const from = option === undefined ? "ALL#" : SK;
  const ips = (await table.between(PK, from, `${from}~`)).map((row) => StockPointer.parse(row).ip);
  const items = await table.getMany(ips.map(holderKey));
  const all = items.flatMap((item) => StockHolder.safeParse(item).data ?? []);
  return all.filter((holder) => state === undefined || holder.state === state);
}

/** The range of all options. */
export const optionsRange = { partition: stock, from: "OPTION#", to: "OPTION#~" };

/** The range of the free addresses of an option, or of all options. */
export function freeRange(optionId?: string): Range {
  const from = optionId === undefined ? "FREE#" : freeKey(optionId, "").SK;
  return { partition: stock, from, to: `${from}~` };
}

/** Reads all options, with the number of free addresses of each option. */
export async function readOptions(table: Reader): Promise<(StoredOption & { available: number })[]> {
  const [options, free] = await Promise.all([
    table.between(stock, optionsRange.from, optionsRange.to),
    table.between(stock, freeRange().from, freeRange().to),
  ]);
  const counts = Map.groupBy(free, (row) => StockPointer.parse(row).option_id);
  return options.map((row) => {
    const option = StoredOption.parse(row);
    return { ...option, available: counts.get(option.option_id)?.length ?? 0 };
  });
}

/** The largest number of free addresses from which a claim chooses one. */
export const maxCandidates = 20;

/**
 * A random address of the first 20 free addresses of an option, so that concurrent claims seldom choose the same
 * address. Undefined if no address is free.
 */
export async function anyFree(table: Reader, optionId: string): Promise<string | undefined> {
  const { from, to } = freeRange(optionId);
  const rows = await table.between(stock, from, to, { limit: maxCandidates });
  const row = rows[Math.floor(Math.random() * rows.length)];
  return row && StockPointer.parse(row).ip;
}

/** The writes that give a free address to a dedicated IP. The writes fail if the address is not free any more. */
export const takeWrites = ({ ip, option_id }: StockHolder, owner: { account_id: string; id: string }): Write[] => [
  {
    update: holderKey(ip),
    set: { state: "taken", account_id: owner.account_id, dedicated_ip_id: owner.id },
    if: { state: "free", option_id },
  },
  { delete: freeKey(option_id, ip), if: "present" },
];

/**
 * The state of an address after its dedicated IP was removed:
 * - `free`: the dedicated IP was still `provisioning`, so no mail was sent from the address;
 * - `faulty`: the reverse DNS of the address did not become right in time;
 * - `resting`: all other cases.
 *
 * The operator decides when a `faulty` or `resting` address becomes free again.
 */
export type ReleasedState = Extract<StockHolder["state"], "free" | "resting" | "faulty">;

/** The writes that release the address of a dedicated IP. */
export const releaseWrites = (
  { ip, option_id }: Pick<StockHolder, "ip" | "option_id">,
  owner: { account_id: string; id: string },
  state: ReleasedState,
): Write[] => [
  {
    update: holderKey(ip),
    set: { state },
    remove: ["account_id", "dedicated_ip_id"],
    if: { account_id: owner.account_id, dedicated_ip_id: owner.id },
  },
  ...(state === "free" ? [{ put: { ...freeKey(option_id, ip), ip, option_id } }] : []),
];
