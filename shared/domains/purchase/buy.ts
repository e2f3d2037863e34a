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

/** A name to buy, at the price that was agreed: minor units for the first year. */
export type Wanted = { name: string; price: number };

/**
 * What came of one name: the domain that is being registered, undefined when the batch bought it before; or why it is
 * not bought.
 */
export type Bought =
  | { name: string; domain: StoredDomain | undefined }
  | { name: string; code: "domain_exists" | "domain_taken" | "insufficient_funds" };

/** A name is taken by this account already, or by another one. */
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
  /** What each transaction writes beside; throws when the order does not stand any more. */
  claim?: () => Promise<Write[]>;
};

/** Each name takes some fourteen writes, with its hold and its entries in the audit log. */
const namesAtOnce = 5;

/**
 * Holds the price of each name and has it registered: both or neither. A few names at a time; what stands in the way
 * of one is no concern of the others, but that money which is short is short for all that follow.
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
      // Another run of the same batch bought one at another price, since it was read what is bought: it is read again.
      else if (error instanceof MovementConflict) continue;
      else if (!(error instanceof Problem) || error.code !== "insufficient_funds") throw error;
      // What does not cover a few may cover one.
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
 * For how much a batch has bought each of some names, whatever became of them since; undefined for those that it has
 * not. A hold is made once, in the transaction of its domain.
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

/** Whether a batch has bought each of some names, whatever became of them since. */
export const areBought = async (table: Reader, batch: Batch, names: readonly string[]): Promise<boolean[]> =>
  (await pricesPaid(table, batch, names)).map((price) => price !== undefined);

/**
 * How names are claimed among all accounts. A name that another account connected and never proved is theirs until it is
 * registered, as the registry still sells it. Throws `NameTaken` for one that another account has for sure.
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
