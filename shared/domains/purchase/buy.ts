import type { Change } from "../../changes/kind.ts";
import type { Writer } from "../../changes/recorder.ts";
import { movementKey } from "../../ledger/ledger.ts";
import { MovementConflict, StoredMovement } from "../../ledger/movement.ts";
import { registrarCurrency } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { purchaseHold } from "../../wallet/purchase.ts";
import { readVatRule, type VatRule } from "../../wallet/vat.ts";
import { isOverdrawn, planWallet, walletOf, type Posting } from "../../wallet/wallet.ts";
import type { StoredDomain } from "../domain.ts";
import type { Patience, Quote } from "./offers.ts";
import type { ErrorCode, OrderType } from "./results.ts";

/**
 * A name to buy. `price` is the agreed price without VAT, in minor units. A name to transfer also has its sealed auth
 * code, once `OrderKind.prepare` has sealed the code.
 */
export type Wanted = { name: string; price: number; sealed_auth_code?: string | undefined };

/**
 * The outcome for one name: the domain that is being registered or transferred, or the reason why the name was not
 * bought. The domain is undefined if an earlier run of the batch bought the name.
 */
export type Outcome =
  | { name: string; domain: StoredDomain | undefined }
  | { name: string; code: Obstacle | "insufficient_funds" };

type Obstacle = "domain_exists" | "domain_taken" | "domain_not_ready";

/**
 * Thrown for a name that cannot be bought.
 * - `domain_exists`: the account has the name already.
 * - `domain_taken`: another account has the name, or another domain is registering or transferring the name.
 * - `domain_not_ready`: a domain of the account has lost the name, and cannot get it back yet.
 */
export class NameTaken extends Error {
  readonly taken: string;
  readonly code: Obstacle;
  constructor(name: string, code: Obstacle) {
    super(`${name}: ${code}`);
    this.taken = name;
    this.code = code;
  }
}

/** Thrown by a plan for several names, if one of the names needs a transaction of its own. */
export class OneByOne extends Error {}

/** The account, workspace and batch of the domains that a transaction buys, and the time of the transaction. */
export type BatchPlace = { accountId: string; workspaceId: string; batchId: string; now: Date };

/** A kind of order. There are two kinds: one registers names, and the other transfers names to us. */
export type OrderKind = {
  type: OrderType;
  /** Asks the registrar for the prices of names. A name without an answer in time is `unchecked`. */
  quotes: (names: readonly string[], patience: Patience) => Promise<Quote<ErrorCode>[]>;
  /** Whether the name of `own`, a domain of the account, can be ordered. */
  takesOwn: (own: StoredDomain) => boolean;
  /** Seals the auth codes of transfers, before the transactions. */
  prepare: (wanted: readonly Wanted[]) => Promise<readonly Wanted[]>;
  /** Plans the domains of names whose prices are held. Throws `NameTaken` and `OneByOne`. */
  plan: (
    table: Reader,
    place: BatchPlace,
    wanted: readonly Wanted[],
  ) => Promise<{ domains: StoredDomain[]; writes: Write[]; changes: Change[] }>;
  /** The description of a name's hold in the wallet. */
  describe: (name: string) => string;
};

type Order = {
  kind: OrderKind;
  accountId: string;
  workspaceId: string;
  batchId: string;
  /** Plans further writes for each transaction. Throws if the order is not valid any more. */
  planMore?: () => Promise<Write[]>;
};

/**
 * How many names one transaction buys at most. Each name takes about 14 of the 100 writes that a transaction can have,
 * with its hold and its audit log entries.
 */
const namesAtOnce = 5;

/**
 * Holds the price of each name and starts its registration or transfer, for a few names in each transaction. A name
 * that fails does not affect the others. A name that the wallet does not cover gets `insufficient_funds`, and the names
 * after it are still tried.
 */
export async function buyNames(order: Order, wanted: readonly Wanted[], buyer: Writer): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  let remaining = [...wanted];
  let atOnce = namesAtOnce;
  const settle = (outcome: Outcome): void => {
    outcomes.set(outcome.name, outcome);
    remaining = remaining.filter(({ name }) => name !== outcome.name);
  };
  while (remaining.length > 0) {
    const some = remaining.slice(0, atOnce);
    try {
      for (const bought of await buyTogether(order, some, buyer)) settle(bought);
    } catch (error) {
      if (error instanceof NameTaken) settle({ name: error.taken, code: error.code });
      // Another run of the batch has bought one of these names at another price meanwhile. The next round of this loop
      // finds that the name is bought.
      else if (error instanceof MovementConflict) continue;
      else if (error instanceof OneByOne) atOnce = 1;
      else if (!isOverdrawn(error)) throw error;
      // The money is too little for these names together, but may be enough for one of them.
      else if (some.length > 1) atOnce = 1;
      else some.forEach(({ name }) => settle({ name, code: "insufficient_funds" }));
    }
  }
  return wanted.flatMap(({ name }) => outcomes.get(name) ?? []);
}

/** The id of the hold in the wallet for a name of a batch. */
export const holdIdOf = (batchId: string, name: string): string => `purchase/${batchId}/${name}`;

/** Returns a function that makes the error for a code and a name, as the `orElse` of a write needs it. */
export const nameTakenAs = (code: Obstacle) => (name: string) => () => new NameTaken(name, code);

type Batch = Pick<Order, "accountId" | "batchId">;

/**
 * The price without VAT at which a batch bought each name, in minor units; undefined for a name that the batch did not
 * buy. The hold in the wallet proves the purchase, even if the domain was deleted since: one transaction makes the hold
 * and the domain.
 */
export async function pricesPaid(
  table: Reader,
  { accountId, batchId }: Batch,
  names: readonly string[],
): Promise<(number | undefined)[]> {
  const keys = names.map((name) => movementKey(walletOf(accountId), holdIdOf(batchId, name)));
  const holds = await table.getMany(keys);
  return holds.map((hold) => {
    const { amount, tax = 0 } = hold ? StoredMovement.parse(hold) : {};
    return amount === undefined ? undefined : amount - tax;
  });
}

/** Whether a batch bought each name, even if the domain was deleted since. */
export const areBought = async (table: Reader, batch: Batch, names: readonly string[]): Promise<boolean[]> =>
  (await pricesPaid(table, batch, names)).map((price) => price !== undefined);

/** Buys a few names in one transaction. Skips names that an earlier run of the batch bought. */
function buyTogether(
  { kind, accountId, workspaceId, batchId, planMore }: Order,
  wanted: readonly Wanted[],
  { table, commit, now }: Writer,
): Promise<Outcome[]> {
  return commit(async () => {
    const at = now();
    const names = wanted.map(({ name }) => name);
    const [bought, rule] = await Promise.all([
      areBought(table, { accountId, batchId }, names),
      readVatRule(table, accountId, at),
    ]);
    const alreadyBought = names.flatMap((name, index) => (bought[index] ? [{ name, domain: undefined }] : []));
    const fresh = wanted.filter((_, index) => !bought[index]);
    if (fresh.length === 0) return { value: alreadyBought, writes: [], changes: [], partial: true };
    const moreWrites = (await planMore?.()) ?? [];
    const holds = fresh.map((one) => holdOf(batchId, one, kind, rule));
    // The wallet and the holders of the names are read at the same time. The wallet is awaited last, so that a taken
    // name is reported before a wallet that does not cover the price.
    const paying = planWallet(table, accountId, holds, at);
    // If `plan` throws first, `paying` is never awaited. Without this line, its failure would end the process.
    paying.catch(() => undefined);
    const { domains, writes, changes } = await kind.plan(table, { accountId, workspaceId, batchId, now: at }, fresh);
    const wallet = await paying;
    return {
      value: [...alreadyBought, ...domains.map((domain) => ({ name: domain.name, domain }))],
      writes: [...moreWrites, ...writes, ...wallet.writes],
      changes: [...changes, ...wallet.changes],
      partial: true,
    };
  });
}

const holdOf = (batchId: string, { name, price }: Wanted, { describe }: OrderKind, rule: VatRule): Posting =>
  purchaseHold(
    {
      id: holdIdOf(batchId, name),
      price,
      currency: registrarCurrency,
      code: "domain",
      description: describe(name),
    },
    rule,
  );
