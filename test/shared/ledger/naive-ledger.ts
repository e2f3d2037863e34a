import type { Operation } from "../../../shared/ledger/movement.ts";

type Begun = Extract<Operation, { kind: "transfer" | "hold" }>;
type Resolved = { as: "captured" | "voided" | "expired"; amount: number };

/** A simple ledger. It stores the operations and movements, and counts everything else from them. */
export type NaiveLedger = {
  limited: readonly string[];
  begun: Begun[];
  resolved: Map<string, Resolved>;
  posted: Posted[];
};

/** A movement of money. A ledger has its movements in the order of time. */
type Posted = { id: string; debit: string; credit: string; amount: number };

export type Outcome = "done" | "existed" | "overdrawn" | "conflict" | "invalid";

export const newNaiveLedger = (limited: readonly string[]): NaiveLedger => ({
  limited,
  begun: [],
  resolved: new Map(),
  posted: [],
});

/** What a movement adds to an account: a credit counts up, and a debit counts down. */
function effectOn(account: string, { debit, credit, amount }: Posted): number {
  if (credit === account) return amount;
  return debit === account ? -amount : 0;
}

export const postedIn = ({ posted }: NaiveLedger, account: string): number =>
  posted.reduce((sum, movement) => sum + effectOn(account, movement), 0);

/** The amount that open holds reserve of an account. */
export const heldIn = ({ begun, resolved }: NaiveLedger, account: string): number =>
  begun
    .filter(({ kind, id, debit }) => kind === "hold" && debit === account && !resolved.has(id))
    .reduce((sum, { amount }) => sum + amount, 0);

/** Does the operation. Returns `done`, `existed` if it was done before, or the reason why it cannot be done. */
export function doNaively(ledger: NaiveLedger, operation: Operation, now: Date): Outcome {
  if ("amount" in operation && !isAmount(operation.amount)) {
    const isMissing =
      operation.kind === "capture" && !ledger.begun.some(({ id, kind }) => id === operation.id && kind === "hold");
    return isMissing ? "conflict" : "invalid";
  }
  if (operation.kind === "transfer" || operation.kind === "hold") return begin(ledger, operation);
  return resolve(ledger, operation, now);
}

const isAmount = (amount: number | undefined): boolean =>
  amount !== undefined && Number.isSafeInteger(amount) && amount > 0;

function begin(ledger: NaiveLedger, asked: Begun): Outcome {
  const { id, kind, debit, credit, amount } = asked;
  if (debit === credit) return "invalid";
  const known = ledger.begun.find((one) => one.id === id);
  if (known) {
    const isSame = ["kind", "debit", "credit", "amount", "code"].every(
      (name) => known[name as "id"] === asked[name as "id"],
    );
    return isSame ? "existed" : "conflict";
  }
  const isCovered = postedIn(ledger, debit) - heldIn(ledger, debit) >= amount;
  if (ledger.limited.includes(debit) && !isCovered) return "overdrawn";
  ledger.begun.push(asked);
  if (kind === "transfer") ledger.posted.push({ id, debit, credit, amount });
  return "done";
}

const endings = { capture: "captured", void: "voided", expire: "expired" } as const;

function resolve(ledger: NaiveLedger, asked: Exclude<Operation, Begun>, now: Date): Outcome {
  const hold = ledger.begun.find(({ id, kind }) => id === asked.id && kind === "hold");
  if (hold?.kind !== "hold") return "conflict";
  const amount = asked.kind === "capture" ? (asked.amount ?? hold.amount) : 0;
  if (amount > hold.amount) return "invalid";
  const as = endings[asked.kind];
  const before = ledger.resolved.get(asked.id);
  if (before) return before.as === as && before.amount === amount ? "existed" : "conflict";
  const isOver = hold.expiresAt !== undefined && new Date(hold.expiresAt) <= now;
  if (as === "expired" && !isOver) return "conflict";
  ledger.resolved.set(asked.id, { as, amount });
  if (amount > 0) ledger.posted.push({ id: asked.id, debit: hold.debit, credit: hold.credit, amount });
  return "done";
}
