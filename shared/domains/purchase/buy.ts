import { change } from "../../changes/kind.ts";
import type { Commit } from "../../changes/recorder.ts";
import { Problem } from "../../core/errors.ts";
import { movementKey } from "../../ledger/ledger.ts";
import { MovementConflict, StoredMovement } from "../../ledger/movement.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { planWallet, walletOf, type Posting } from "../../wallet/wallet.ts";
import { domainKind, holderKey, unregistered, type StoredDomain } from "../domain.ts";
import { buyerWrite, holderWrite, readBuyers, readHolders, type StoredHolder } from "../holder.ts";
import { planNewDomains } from "../setup/new.ts";
import { domainView } from "../view.ts";

/** A name to buy, with the agreed price of its first year in minor units. */
export type Wanted = { name: string; price: number };

/**
 * The result for one name. It is the domain that is being registered, or the reason why the name was not bought. The
 * domain is undefined if an earlier run of the batch bought the name.
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
  /** Plans further writes for each transaction. Throws if the order is not valid any more. */
  planMore?: () => Promise<Write[]>;
};

/** The most names in one transaction. Each name takes about 14 writes, with its hold and its audit log entries. */
const namesAtOnce = 5;

/**
 * Holds the price of each name and starts its registration, a few names in each transaction. A name that fails does not
 * affect the others. A name for which the money is not enough gets `insufficient_funds`. The names after it are still
 * tried.
 */
export async function buyNames(order: Order, wanted: readonly Wanted[], buyer: Buyer): Promise<Bought[]> {
  const outcomes = new Map<string, Bought>();
  let remaining = [...wanted];
  let atOnce = namesAtOnce;
  const settle = (outcome: Bought): void => {
    outcomes.set(outcome.name, outcome);
    remaining = remaining.filter(({ name }) => name !== outcome.name);
  };
  while (remaining.length > 0) {
    const some = remaining.slice(0, atOnce);
    try {
      for (const bought of await buyTogether(order, some, buyer)) settle(bought);
    } catch (error) {
      if (error instanceof NameTaken) settle({ name: error.taken, code: error.code });
      // Another run of the same batch bought one of the names at another price meanwhile, so the bought names are read
      // again.
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
 * The price at which a batch bought each name, even if the domain has been deleted since; undefined for a name that the
 * batch did not buy. The hold in the wallet proves the purchase, because the transaction that creates the domain makes
 * it.
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

/** Whether a batch bought each name, even if the domain has been deleted since. */
export const areBought = async (table: Reader, batch: Batch, names: readonly string[]): Promise<boolean[]> =>
  (await pricesPaid(table, batch, names)).map((price) => price !== undefined);

/**
 * Reads who has the names, and returns a function that makes the writes which claim a domain's name. Throws `NameTaken`
 * for a name that another account holds firmly. If another account connected a name but never proved it, that account
 * keeps the name until the registration succeeds.
 */
async function planClaims(
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
    const buyerClaim = { ...buyerWrite(domain, endedClaims.get(name)), orElse: refuse("domain_taken")(name) };
    return [buyerClaim, holder ? { check: holderKey(name), if: { ...holder } } : holderWrite(domain, "absent")];
  };
}

function buyTogether(
  { accountId, workspaceId, batchId, planMore }: Order,
  wanted: readonly Wanted[],
  { table, commit, now }: Buyer,
): Promise<Bought[]> {
  return commit(async () => {
    const at = now();
    const names = wanted.map(({ name }) => name);
    const bought = await areBought(table, { accountId, batchId }, names);
    const alreadyBought = names.flatMap((name, index) => (bought[index] ? [{ name, domain: undefined }] : []));
    const fresh = wanted.filter((_, index) => !bought[index]);
    if (fresh.length === 0) return { value: alreadyBought, writes: [], changes: [], partial: true };
    const moreWrites = (await planMore?.()) ?? [];
    const holds = fresh.map((one) => holdOf(batchId, one));
    // The wallet and the holders of the names are read at the same time. The wallet is awaited last, so that a taken
    // name is reported before a lack of money.
    const paying = planWallet(table, accountId, holds, at);
    paying.catch(() => undefined);
    const nameWritesOf = await planClaims(table, accountId, fresh);
    const { domains, writes } = await planNewDomains(
      table,
      { accountId, workspaceId, now: at },
      fresh.map(({ name, price }) => ({
        name,
        source: "purchased",
        status: "pending_registration",
        auto_renew: true,
        due_at: at.toISOString(),
        registration: unregistered("pending"),
        purchase: { batch_id: batchId, price, hold_id: holdIdOf(batchId, name), stage: "held" },
      })),
      { taken: refuse("domain_taken"), exists: refuse("domain_exists"), claim: nameWritesOf },
    );
    const wallet = await paying;
    return {
      value: [...alreadyBought, ...domains.map((domain) => ({ name: domain.name, domain }))],
      writes: [...moreWrites, ...writes, ...wallet.writes],
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
