import { planWallet, type Posting } from "../billing/wallet.ts";
import { change } from "../changes/kind.ts";
import type { Commit } from "../changes/recorder.ts";
import { Problem } from "../errors.ts";
import type { Reader } from "../table/table.ts";
import { domainKind, type StoredDomain } from "./domain.ts";
import { domainByName } from "./find.ts";
import { planNewDomains } from "./new.ts";
import { domainView } from "./view.ts";

/** A name to buy, at the price that was agreed: minor units for the first year. */
export type Wanted = { name: string; price: number };

/** What came of one name: the domain that is being registered, or why it is not. */
export type Bought =
  | { name: string; domain: StoredDomain }
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
type Order = { accountId: string; workspaceId: string; batchId: string };

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
      for (const domain of await buyTogether(order, some, buyer)) settle({ name: domain.name, domain });
    } catch (error) {
      if (error instanceof NameTaken) settle({ name: error.taken, code: error.code });
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

function buyTogether(
  { accountId, workspaceId, batchId }: Order,
  wanted: readonly Wanted[],
  { table, commit, now }: Buyer,
): Promise<StoredDomain[]> {
  return commit(async () => {
    const at = now();
    // A batch that is tried again finds what it has bought.
    const known = await Promise.all(wanted.map(({ name }) => domainByName(table, accountId, name)));
    const own = known.flatMap((domain) => (domain?.purchase?.batch_id === batchId ? [domain] : []));
    const fresh = wanted.filter(({ name }) => !own.some((domain) => domain.name === name));
    if (fresh.length === 0) return { value: own, writes: [], changes: [] };
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
      { taken: refuse("domain_taken"), exists: refuse("domain_exists") },
    );
    const wallet = await planWallet(
      table,
      accountId,
      fresh.map((one) => holdOf(batchId, one)),
      at,
    );
    return {
      value: [...own, ...domains],
      writes: [...writes, ...wallet.writes],
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
