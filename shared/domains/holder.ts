import * as z from "zod";

import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { buyerKey, domainKey, holderKey, isTransferring, StoredDomain } from "./domain.ts";

/**
 * The account and domain that hold a name. A name has one holder among all accounts. If the hold is not `firm`, another
 * account can take the name over by a proof that it owns the name.
 */
export const StoredHolder = z.object({ account_id: z.string(), domain_id: z.string(), firm: z.boolean() });
export type StoredHolder = z.output<typeof StoredHolder>;

/**
 * The account and domain that are registering a name, or transferring it to us. A name has one buyer among all
 * accounts. The present holder keeps the name until the registration or the transfer succeeds.
 */
const StoredBuyer = z.object({ account_id: z.string(), domain_id: z.string() });
type StoredBuyer = z.output<typeof StoredBuyer>;

type Named = Pick<StoredDomain, "account_id" | "id" | "name">;

/**
 * The write that makes a domain the holder of its name. The transaction fails unless the present holder's row meets
 * `condition`. The hold is firm if the name was purchased and is not being transferred any more. The hold of a
 * connected name becomes firm later, once the name is proved.
 */
export const holderWrite = (
  { account_id, id, name, source, status }: Named & Pick<StoredDomain, "source" | "status">,
  condition: NonNullable<Write["if"]>,
): Write => ({
  put: {
    ...holderKey(name),
    account_id,
    domain_id: id,
    firm: source === "purchased" && status !== "pending_transfer",
  },
  if: condition,
});

/**
 * The write that claims a name for the registration or the transfer of one domain. The transaction fails while another
 * domain has the claim. The write replaces `former`, an earlier claim that is over.
 */
export const buyerWrite = ({ account_id, id, name }: Named, former?: StoredBuyer): Write => ({
  put: { ...buyerKey(name), account_id, domain_id: id },
  if: former ? { domain_id: former.domain_id } : "absent",
});

/**
 * A claim of a domain to register or transfer a name. `isOver` is true once the registration or transfer is over, or
 * the domain is deleted.
 */
export type BuyerClaim = { buyer: StoredBuyer; isOver: boolean };

/** Whether a domain is being registered or transferred. */
export const isBuying = (domain: StoredDomain): boolean =>
  domain.status === "pending_registration" || isTransferring(domain);

/** The claims to register or transfer names, in the order of the names; undefined for a name without a claim. */
export async function readBuyers(table: Reader, names: readonly string[]): Promise<(BuyerClaim | undefined)[]> {
  const items = await table.getMany(names.map(buyerKey));
  const buyers = items.map((item) => item && StoredBuyer.parse(item));
  const rows = await table.getMany(
    buyers.flatMap((buyer) => (buyer ? [domainKey(buyer.account_id, buyer.domain_id)] : [])),
  );
  const running = new Set(
    rows
      .flatMap((row) => (row ? [StoredDomain.parse(row)] : []))
      .filter(isBuying)
      .map(({ id }) => id),
  );
  return buyers.map((buyer) => buyer && { buyer, isOver: !running.has(buyer.domain_id) });
}

/** The condition for a takeover of a name: the holder's row has not changed since it was read, or is deleted. */
export const ifUnchangedOrGone = (rival: StoredHolder): NonNullable<Write["if"]> => ({ absentOr: { ...rival } });

/** The holder of a name; undefined if it has none. */
export const readHolder = (table: Reader, name: string): Promise<StoredHolder | undefined> =>
  table.get(holderKey(name), StoredHolder);

/** The holders of names, in the order of the names; undefined for a name without a holder. */
export async function readHolders(table: Reader, names: readonly string[]): Promise<(StoredHolder | undefined)[]> {
  const items = await table.getMany(names.map(holderKey));
  return items.map((item) => (item ? StoredHolder.parse(item) : undefined));
}

/**
 * The claim to register or transfer a name. The domain of the claim may have been deleted since. Undefined if there is
 * no claim, or if an earlier version of this product began the registration.
 */
export const readBuyer = (table: Reader, name: string): Promise<StoredBuyer | undefined> =>
  table.get(buyerKey(name), StoredBuyer);

/** The names that an account other than `except` holds firmly or is buying. */
export async function takenNames(table: Reader, names: readonly string[], except?: string): Promise<Set<string>> {
  const [holders, claims] = await Promise.all([readHolders(table, names), readBuyers(table, names)]);
  return new Set(
    names.filter((_, index) => {
      const [holder, claim] = [holders[index], claims[index]];
      const isHeld = holder?.firm === true && holder.account_id !== except;
      return isHeld || (claim?.isOver === false && claim.buyer.account_id !== except);
    }),
  );
}
