import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { domainByName } from "../find.ts";
import { type Wanted, pricesPaid } from "./buy.ts";

/** What an account has of some names before a purchase goes on. */
export type Known = {
  /** What this purchase bought, in a try that was cut off, for which price; and the domain, unless that is gone. */
  earlier: ReadonlyMap<string, Earlier>;
  /** The account's other domains. */
  own: ReadonlyMap<string, StoredDomain>;
};
export type Earlier = Wanted & { domain: StoredDomain | undefined };

/** Looks the names of a purchase up in its account. One without an idempotency key was never sent before. */
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
