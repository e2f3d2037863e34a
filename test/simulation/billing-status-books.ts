import { StoredAccount } from "../../shared/accounts/account.ts";
import { StoredInvoice } from "../../shared/billing/invoices/invoice.ts";
import { StoredChange } from "../../shared/changes/record.ts";
import { plusDays } from "../../shared/core/time.ts";
import { availableOf, Balance } from "../../shared/ledger/balance.ts";
import { graceDays } from "../../shared/wallet/catalogue.ts";
import { BillingState } from "../../shared/wallet/state.ts";
import type { Change } from "../support/memory-table.ts";
import { mustHold, type Invariant } from "./world.ts";

type Books = {
  account: StoredAccount | undefined;
  state: BillingState | undefined;
  available: number;
  totals: Map<number, number>;
  /**
   * The last status from the operator. Undefined if billing has changed a status that was not `suspended` since then.
   */
  operator: "suspended" | "active" | "closed" | undefined;
  /** Whether the changes were seen from the first one, so that the acts of the operator are known. */
  isFromStart: boolean;
};

/**
 * The status of an account follows its debt. Without debt, the account is active. It is past due once the wallet cannot
 * pay the oldest invoice. It is suspended `graceDays` days after the debt became due, or later. If the operator set the
 * status to suspended or closed, this status stays.
 */
export function accountStatusInvariant(accountId: string): Invariant {
  const books: Books = {
    account: undefined,
    state: undefined,
    available: 0,
    totals: new Map(),
    operator: undefined,
    isFromStart: true,
  };
  const check = (changes: readonly Change[]): void => {
    const own = changes.filter(({ key }) => key.PK === `ACCOUNT#${accountId}`);
    const { account: before } = books;
    for (const change of own) note(books, change);
    const { account } = books;
    // If one call gets all changes, their order is not known: events of the same millisecond have no order.
    if (before === undefined && (books.state || account?.version !== 1)) books.isFromStart = false;
    if (!account || own.every(({ key }) => key.SK !== "ACCOUNT" && key.SK !== "BILLING")) return;
    if (before && before.status !== account.status) checkStep(books, before, account);
    if (books.isFromStart) checkStatus(books, account);
  };
  return { name: `the status of ${accountId}`, check };
}

function note(books: Books, { key, before, after }: Change): void {
  if (key.SK === "ACCOUNT") books.account = StoredAccount.parse(after);
  if (key.SK === "BILLING") books.state = BillingState.parse(after);
  if (key.SK === "LEDGER#BALANCE#wallet") books.available = availableOf(Balance.parse(after));
  if (key.SK.startsWith("LIST#invoices#ROW#")) {
    books.totals.set(Number(key.SK.slice(-10)), StoredInvoice.parse(after).total);
  }
  if (key.SK.startsWith("JOURNAL#changes#ENTRY#") && before === undefined)
    noteOperator(books, StoredChange.parse(after));
}

function noteOperator(books: Books, { type, actor_type, after }: StoredChange): void {
  if (type !== "account.updated") return;
  const status = after?.["status"];
  if (books.operator === "closed") return;
  if (actor_type !== "operator") books.operator = books.operator === "suspended" ? "suspended" : undefined;
  else if (status === "suspended" || status === "active" || status === "closed") books.operator = status;
}

function checkStep({ state, available, totals, operator }: Books, before: StoredAccount, after: StoredAccount): void {
  if (operator !== undefined) return;
  const [oldest = -1] = state?.open ?? [];
  if (after.status === "past_due") {
    const total = totals.get(oldest) ?? 0;
    const isShort = total > available || ((state?.owed ?? 0) > 0 && available === 0);
    mustHold(isShort, () => `past due for ${total}, and the wallet has ${available}`);
  }
  if (after.status === "suspended") {
    const last = plusDays(state?.due_since ?? "9999-01-01", graceDays);
    mustHold(last <= after.updated_at.slice(0, 10), () => `suspended on ${after.updated_at}, not on ${last}`);
  }
  if (after.status === "active")
    mustHold(oldest === -1 && state?.owed === 0, () => `active from ${before.status}, and owes`);
}

function checkStatus({ state, operator }: Books, { status }: StoredAccount): void {
  const owes = (state?.open.length ?? 0) > 0 || (state?.owed ?? 0) > 0;
  if (operator === "suspended" || operator === "closed")
    mustHold(status === operator, () => `the operator made it ${operator}, and it is ${status}`);
  else if (!owes) mustHold(status === "active", () => `owes nothing, and is ${status}`);
  else if (operator !== "active") mustHold(status !== "active", () => "owes, and is active");
}
