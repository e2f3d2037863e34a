import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { buyerKey, holderKey, type StoredDomain } from "../domain.ts";
import {
  buyerWrite,
  holderWrite,
  readBuyer,
  readBuyers,
  readHolder,
  readHolders,
  type StoredHolder,
} from "../holder.ts";
import { planTakeover } from "../setup/releasing.ts";
import { NameTaken, nameTakenAs, type Wanted } from "./buy.ts";

/*
 * A name has one holder among all accounts (shared/domains/holder.ts). While a name is being registered or transferred,
 * one domain has the claim to it. The claim ends when the domain becomes the holder, or when its order fails. A claim
 * of a deleted domain counts as over.
 */

/**
 * Reads the holders of names and the claims to them. Returns a function that makes the writes for the claim of one
 * domain. Throws `NameTaken` for a name on which another account has a firm hold. A hold that is not firm does not
 * prevent the claim. Its account loses the name only when the registration or the transfer succeeds.
 */
export async function planClaims(
  table: Reader,
  accountId: string,
  wanted: readonly Wanted[],
): Promise<(domain: StoredDomain) => Write[]> {
  const names = wanted.map(({ name }) => name);
  const [holders, buyers] = await Promise.all([readHolders(table, names), readBuyers(table, names)]);
  const endedClaims = new Map(
    names.map((name, index) => [name, buyers[index]?.isOver ? buyers[index].buyer : undefined]),
  );
  const holderByName = new Map<string, StoredHolder>();
  for (const [index, name] of names.entries()) {
    const holder = holders[index];
    if (!holder) continue;
    if (holder.firm && holder.account_id !== accountId) throw new NameTaken(name, "domain_taken");
    holderByName.set(name, holder);
  }
  return (domain) => {
    const { name } = domain;
    const holder = holderByName.get(name);
    const buyerClaim = { ...buyerWrite(domain, endedClaims.get(name)), orElse: nameTakenAs("domain_taken")(name) };
    // A present holder stays the holder for now. Without a holder, the domain becomes the holder at once.
    return [buyerClaim, holder ? { check: holderKey(name), if: { ...holder } } : holderWrite(domain, "absent")];
  };
}

/** The holder of a domain's name, and the write that ends the domain's claim to the name. */
async function readClaim(table: Reader, { id, name }: StoredDomain) {
  const [holder, buyer] = await Promise.all([readHolder(table, name), readBuyer(table, name)]);
  // A purchase from an earlier version of this product has no claim, because it held the name from its beginning.
  const ending: Write[] = buyer?.domain_id === id ? [{ delete: buyerKey(name), if: { domain_id: id } }] : [];
  return { holder, ending };
}

/**
 * Plans that a domain becomes the holder of its name, after its registration or transfer succeeded. If another domain
 * holds the name, in any account, that domain loses the name.
 */
export async function planHolder(table: Reader, domain: StoredDomain, now: Date): Promise<Write[]> {
  const { holder, ending } = await readClaim(table, domain);
  const isRival = holder !== undefined && holder.domain_id !== domain.id;
  return [
    ...ending,
    holderWrite(domain, holder ? { ...holder } : "absent"),
    ...(isRival ? await planTakeover(table, holder, "bought", now) : []),
  ];
}

/**
 * Plans that a domain whose registration or transfer failed gives up its name and its claim. Another holder keeps the
 * name.
 */
export async function planGivenUp(table: Reader, domain: StoredDomain): Promise<Write[]> {
  const { holder, ending } = await readClaim(table, domain);
  const isOwn = holder?.domain_id === domain.id;
  return [...ending, ...(isOwn ? [{ delete: holderKey(domain.name), if: { domain_id: domain.id } }] : [])];
}
