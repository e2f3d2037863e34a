import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { domainByName } from "../find.ts";
import { type Wanted, pricesPaid } from "./buy.ts";

/** The state of a purchase's names in its account, before the purchase continues. */
export type Known = {
  /**
   * The names that an earlier, interrupted attempt of this purchase bought, with their prices. The domain is undefined
   * if it was deleted since.
   */
  earlier: ReadonlyMap<string, Earlier>;
  /** The account's other domains. */
  own: ReadonlyMap<string, StoredDomain>;
};
export type Earlier = Wanted & { domain: StoredDomain | undefined };

/** Looks up the names of a purchase in its account. A purchase without an idempotency key has no earlier attempt. */
export async function lookUp(
  accountId: string,
  batchId: string,
  names: readonly string[],
  { table, keyId }: Pick<Context, "table" | "keyId">,
): Promise<Known> {
  const [domains, prices] = await Promise.all([
    Promise.all(names.map((name) => domainByName(table, accountId, name))),
    keyId === undefined ? [] : pricesPaid(table, { accountId, batchId }, names),
  ]);
  const earlier = new Map<string, Earlier>();
  const own = new Map<string, StoredDomain>();
  for (const [index, name] of names.entries()) {
    const [domain, price] = [domains[index], prices[index]];
    const bought = domain?.purchase?.batch_id === batchId ? domain.purchase : undefined;
    const paid = bought?.price ?? price;
    if (paid !== undefined) earlier.set(name, { name, price: paid, domain: bought && domain });
    else if (domain) own.set(name, domain);
  }
  return { earlier, own };
}
