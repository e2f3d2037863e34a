import * as z from "zod";

import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { buyerKey, domainKey, holderKey, StoredDomain } from "./domain.ts";

/** Who has a name, of all accounts. A hold that is not firm gives way to another account that proves the name is theirs. */
export const StoredHolder = z.object({ account_id: z.string(), domain_id: z.string(), firm: z.boolean() });
export type StoredHolder = z.output<typeof StoredHolder>;

/** Who is registering a name, of all accounts; whoever has the name meanwhile keeps it until that has succeeded. */
const StoredBuyer = z.object({ account_id: z.string(), domain_id: z.string() });
type StoredBuyer = z.output<typeof StoredBuyer>;

type Named = Pick<StoredDomain, "account_id" | "id" | "name">;

/** The write that gives a name to a domain, provided its holder is as `unless` says. */
export const holderWrite = (
  { account_id, id, name, source }: Named & Pick<StoredDomain, "source">,
  unless: NonNullable<Write["if"]>,
): Write => ({
  put: { ...holderKey(name), account_id, domain_id: id, firm: source === "purchased" },
  if: unless,
});

/** The write by which one domain alone is being registered under a name; `former` is a claim that is over. */
export const buyerWrite = ({ account_id, id, name }: Named, former?: StoredBuyer): Write => ({
  put: { ...buyerKey(name), account_id, domain_id: id },
  if: former ? { domain_id: former.domain_id } : "absent",
});

/** A claim to register a name, and whether it is over: its domain is gone, or is not being registered any more. */
export type BuyerClaim = { buyer: StoredBuyer; isOver: boolean };

/** The claims to register names, in their order; undefined where there is none. */
export async function readBuyers(table: Reader, names: readonly string[]): Promise<(BuyerClaim | undefined)[]> {
  const items = await table.getMany(names.map(buyerKey));
  const buyers = items.map((item) => item && StoredBuyer.parse(item));
  const rows = await table.getMany(
    buyers.flatMap((buyer) => (buyer ? [domainKey(buyer.account_id, buyer.domain_id)] : [])),
  );
  const running = new Set(
    rows
      .flatMap((row) => (row ? [StoredDomain.parse(row)] : []))
      .filter(({ status }) => status === "pending_registration")
      .map(({ id }) => id),
  );
  return buyers.map((buyer) => buyer && { buyer, isOver: !running.has(buyer.domain_id) });
}

/** What the holder of a name has to be for it to be taken from them: that one, as it was read, or nobody any more. */
export const fromRival = (rival: StoredHolder): NonNullable<Write["if"]> => ({ absentOr: { ...rival } });

/** Who has a name, of all accounts; undefined when nobody has. */
export const readHolder = (table: Reader, name: string): Promise<StoredHolder | undefined> =>
  table.get(holderKey(name), StoredHolder);

/** The holders of names, in their order; undefined where nobody has one. */
export async function readHolders(table: Reader, names: readonly string[]): Promise<(StoredHolder | undefined)[]> {
  const items = await table.getMany(names.map(holderKey));
  return items.map((item) => (item ? StoredHolder.parse(item) : undefined));
}

/** Who is registering a name; undefined when nobody is, or it was begun by an earlier version of this product. */
export const readBuyer = (table: Reader, name: string): Promise<StoredBuyer | undefined> =>
  table.get(buyerKey(name), StoredBuyer);

/** Those of some names that an account, but the one given, has and has proved, or is buying. */
export async function firmlyHeld(table: Reader, names: readonly string[], but?: string): Promise<Set<string>> {
  const [holders, claims] = await Promise.all([readHolders(table, names), readBuyers(table, names)]);
  return new Set(
    names.filter((_, index) => {
      const [holder, claim] = [holders[index], claims[index]];
      const isHeld = holder?.firm === true && holder.account_id !== but;
      return isHeld || (claim?.isOver === false && claim.buyer.account_id !== but);
    }),
  );
}
