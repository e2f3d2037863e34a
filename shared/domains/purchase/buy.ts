import { change } from "../../changes/kind.ts";
import type { Commit } from "../../changes/recorder.ts";
import { Problem } from "../../core/errors.ts";
import { movementKey } from "../../ledger/ledger.ts";
import { MovementConflict, StoredMovement } from "../../ledger/movement.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { planWallet, walletOf, type Posting } from "../../wallet/wallet.ts";
import { domainKind, holderKey, type StoredDomain } from "../domain.ts";
import { buyerWrite, holderWrite, readBuyers, readHolders, type StoredHolder } from "../holder.ts";
import { planNewDomains } from "../setup/new.ts";
import { domainView } from "../view.ts";

/** A name to buy, with the agreed price of its first year in minor units. */
export type Wanted = { name: string; price: number };

/**
 * The result for one name: the domain that is being registered (undefined when the batch bought it before), or the
 * reason why it is not bought.
 */
export type Bought =
  | { name: string; domain: StoredDomain | undefined }
  | { name: string; code: "domain_exists" | "domain_taken" | "insufficient_funds" };

/** Thrown when this account or another one has the name already. */
class NameTaken extends Error {
  readonly taken: string;
  readonly code: "domain_exists" | "domain_taken";
  constructor(name: string, code: "domain_exists" | "domain_taken") {
    super(`${name}: ${code}`);
    this.taken = name;
    this.code = code;
  }
}

type Buyer = { table: Reader; commit: Commit; now: () => Date };
type Order = {
  accountId: string;
  workspaceId: string;
  batchId: string;
  /** Further writes for each transaction; throws when the order is no longer valid. */
  claim?: () => Promise<Write[]>;
};

/** The names in one transaction: each takes some fourteen writes, with its hold and its entries in the audit log. */
const namesAtOnce = 5;

/**
 * Holds the price of each name and starts its registration, both in one transaction, for a few names at a time. A name
 * that fails does not affect the others, except that missing money affects all names that follow.
 */
export async function buyNames(order: Order, wanted: readonly Wanted[], buyer: Buyer): Promise<Bought[]> {
  const outcomes = new Map<string, Bought>();
  let left = [...wanted];
  let atOnce = namesAtOnce;
  const settle = (outcome: Bought): void => {
    outcomes.set(outcome.name, outcome);
    left = left.filter(({ name }) => name !== outcome.name);
  };
  while (left.length > 0) {
    const some = left.slice(0, atOnce);
    try {
      for (const bought of await buyTogether(order, some, buyer)) settle(bought);
    } catch (error) {
      if (error instanceof NameTaken) settle({ name: error.taken, code: error.code });
      // Another run of the same batch bought one of the names at another price after this run looked: look again.
      else if (error instanceof MovementConflict) continue;
      else if (!(error instanceof Problem) || error.code !== "insufficient_funds") throw error;
      // Money that is too little for several names may be enough for one.
      else if (some.length > 1) atOnce = 1;
      else some.forEach(({ name }) => settle({ name, code: "insufficient_funds" }));
    }
  }
  return wanted.flatMap(({ name }) => outcomes.get(name) ?? []);
}

export const holdIdOf = (batchId: string, name: string): string => `purchase/${batchId}/${name}`;

const refuse = (code: "domain_exists" | "domain_taken") => (name: string) => () => new NameTaken(name, code);

type Batch = Pick<Order, "accountId" | "batchId">;

/**
 * The price for which a batch bought each name, whatever happened to the domain since; undefined for a name that it did
 * not buy. The hold proves the purchase: it is made once, in the transaction that creates the domain.
 */
export async function pricesPaid(
  table: Reader,
  { accountId, batchId }: Batch,
  names: readonly string[],
): Promise<(number | undefined)[]> {
  const keys = names.map((name) => movementKey(walletOf(accountId), holdIdOf(batchId, name)));
  const holds = await table.getMany(keys);
  return holds.map((hold) => hold && StoredMovement.parse(hold).amount);
}

/** Whether a batch bought each name, whatever happened to the domain since. */
export const areBought = async (table: Reader, batch: Batch, names: readonly string[]): Promise<boolean[]> =>
  (await pricesPaid(table, batch, names)).map((price) => price !== undefined);

/**
 * The writes that claim names among all accounts. A name that another account connected but never proved stays with
 * that account until it is registered, because the registry still sells it. Throws `NameTaken` for a name that another
 * account holds firmly.
 */
async function claimsOn(
  table: Reader,
  accountId: string,
  wanted: readonly Wanted[],
): Promise<(domain: StoredDomain) => Write[]> {
  const names = wanted.map(({ name }) => name);
  const [holders, claims] = await Promise.all([readHolders(table, names), readBuyers(table, names)]);
  const over = new Map(names.map((name, index) => [name, claims[index]?.isOver ? claims[index].buyer : undefined]));
  const rivals = new Map<string, StoredHolder>();
  for (const [index, name] of names.entries()) {
    const holder = holders[index];
    if (!holder) continue;
    if (holder.firm && holder.account_id !== accountId) throw new NameTaken(name, "domain_taken");
    rivals.set(name, holder);
  }
  return (domain) => {
    const { name } = domain;
    const rival = rivals.get(name);
    const buying = { ...buyerWrite(domain, over.get(name)), orElse: refuse("domain_taken")(name) };
    return [buying, rival ? { check: holderKey(name), if: { ...rival } } : holderWrite(domain, "absent")];
  };
}

function buyTogether(
  { accountId, workspaceId, batchId, claim }: Order,
  wanted: readonly Wanted[],
  { table, commit, now }: Buyer,
): Promise<Bought[]> {
  return commit(async () => {
    const at = now();
    const names = wanted.map(({ name }) => name);
    const bought = await areBought(table, { accountId, batchId }, names);
    const before = names.flatMap((name, index) => (bought[index] ? [{ name, domain: undefined }] : []));
    const fresh = wanted.filter((_, index) => !bought[index]);
    if (fresh.length === 0) return { value: before, writes: [], changes: [], partial: true };
    const claimed = (await claim?.()) ?? [];
    const claims = await claimsOn(table, accountId, fresh);
    const { domains, writes } = await planNewDomains(
      table,
      { accountId, workspaceId, now: at },
      fresh.map(({ name, price }) => ({
        name,
        source: "purchased",
        status: "pending_registration",
        auto_renew: false,
        due_at: at.toISOString(),
        registration: { status: "pending", expires_at: null, locked: false },
        purchase: { batch_id: batchId, price, hold_id: holdIdOf(batchId, name), stage: "held" },
      })),
      { taken: refuse("domain_taken"), exists: refuse("domain_exists"), claim: claims },
    );
    const wallet = await planWallet(
      table,
      accountId,
      fresh.map((one) => holdOf(batchId, one)),
      at,
    );
    return {
      value: [...before, ...domains.map((domain) => ({ name: domain.name, domain }))],
      writes: [...claimed, ...writes, ...wallet.writes],
      changes: [
        ...domains.map((domain) => change(domainKind, "created", domain.id, { after: domainView(domain) })),
        ...wallet.changes,
      ],
      partial: true,
    };
  });
}

const holdOf = (batchId: string, { name, price }: Wanted): Posting => ({
  kind: "hold",
  id: holdIdOf(batchId, name),
  debit: "wallet",
  credit: "revenue",
  amount: price,
  code: "domain",
  type: "purchase",
  description: `Registration of ${name} for a year`,
});
