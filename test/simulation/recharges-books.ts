import { StoredAlerts } from "../../shared/billing/recharges/alerts.ts";
import { StoredSettings } from "../../shared/billing/recharges/auto-recharge.ts";
import { StoredRecharge } from "../../shared/billing/recharges/stored-recharge.ts";
import { StoredChange } from "../../shared/changes/record.ts";
import { Balance, postedOf } from "../../shared/ledger/balance.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import { BillingState } from "../../shared/wallet/state.ts";
import { StoredTopup } from "../../shared/wallet/topup.ts";
import type { Change } from "../support/memory-table.ts";
import type { RechargeScene } from "./recharges-scene.ts";
import { mustHold, type Invariant } from "./world.ts";

type Books = {
  settings: StoredSettings | undefined;
  alerts: StoredAlerts | undefined;
  state: BillingState | undefined;
  owed: number;
  recharges: Map<string, StoredRecharge>;
  movements: Map<string, StoredMovement>;
  /** How many events said that each recharge is over. */
  ends: Map<string, number>;
  /** How often the wallet became low. */
  lows: number;
  /** How many events said that the wallet is low. */
  lowsTold: number;
  notices: Set<string>;
  /** The recharges whose page was paid. */
  confirmed: Set<string>;
};

/**
 * The rules of recharges:
 * - A recharge is credited once, with the amount of a charge that succeeded at the provider.
 * - An account has one recharge at a time. A recharge that begins keeps the month within the cap and the count that the
 *   customer has set at that time.
 * - One event tells the end of a recharge, and one event tells each crossing of the threshold. At most one event tells
 *   each coming date, and the limit of each month.
 * - The debt of the account is the debt in the ledger.
 * - A recharge whose page was paid is confirmed.
 */
export function rechargeInvariant(scene: RechargeScene, accountId: string): Invariant {
  const books: Books = {
    settings: undefined,
    alerts: undefined,
    state: undefined,
    owed: 0,
    recharges: new Map(),
    movements: new Map(),
    ends: new Map(),
    lows: 0,
    lowsTold: 0,
    notices: new Set(),
    confirmed: new Set(),
  };
  let isFirst = true;
  const check = (changes: readonly Change[]): void => {
    const own = changes.filter(({ key }) => key.PK === `ACCOUNT#${accountId}`);
    if (own.length === 0) return;
    // If all changes come at once, the steps in between are not known.
    const isAll = isFirst && own.some(({ key }) => key.SK === "AUTO_RECHARGE");
    isFirst = false;
    const begun = own.flatMap((change) => note(books, change));
    checkOwed(books);
    for (const movement of books.movements.values()) checkCredit(scene, movement);
    for (const id of books.confirmed) checkConfirmed(books.recharges.get(id));
    if (isAll) return;
    for (const recharge of begun) checkBeginning(books, recharge);
    mustHold(books.lows === books.lowsTold, () => `the wallet was low ${books.lows} times, told ${books.lowsTold}`);
    for (const [id, count] of books.ends) mustHold(count === 1, () => `the end of ${id} was told ${count} times`);
  };
  return { name: `the recharges of ${accountId}`, check };
}

/** Notes a change. Returns the recharges that begin with it. */
function note(books: Books, { key, before, after }: Change): StoredRecharge[] {
  const { SK } = key;
  if (SK === "BILLING") books.state = BillingState.parse(after);
  if (SK === "AUTO_RECHARGE") books.settings = StoredSettings.parse(after);
  if (SK === "LEDGER#BALANCE#owed") books.owed = -postedOf(Balance.parse(after));
  if (SK === "ALERTS") {
    const wasLow = before !== undefined && StoredAlerts.parse(before).is_low;
    books.alerts = StoredAlerts.parse(after);
    if (books.alerts.is_low && !wasLow) books.lows += 1;
  }
  if (/^LEDGER#MOVEMENT#(recharge|refund|dispute)\//.test(SK)) {
    const movement = StoredMovement.parse(after);
    books.movements.set(movement.id, movement);
  }
  if (SK.startsWith("TOPUP#")) {
    const { recharge_id, status } = StoredTopup.parse(after);
    if (recharge_id !== undefined && status === "paid") books.confirmed.add(recharge_id);
  }
  if (SK.startsWith("JOURNAL#changes#ENTRY#") && before === undefined) noteTold(books, StoredChange.parse(after));
  if (!SK.startsWith("RECHARGE#")) return [];
  const recharge = StoredRecharge.parse(after);
  books.recharges.set(recharge.id, recharge);
  return before === undefined ? [recharge] : [];
}

function noteTold(books: Books, { type, resource_id: id, after, at }: StoredChange): void {
  if (type === "billing.wallet.low_balance") books.lowsTold += 1;
  if (/^billing\.recharge\.(succeeded|failed|action_required)$/.test(type)) {
    books.ends.set(id, (books.ends.get(id) ?? 0) + 1);
  }
  const isLimit = type === "billing.recharge.limit_reached";
  if (!type.endsWith("_soon") && !isLimit) return;
  const notice = isLimit
    ? [type, at.slice(0, 7)].join()
    : [type, after?.["days"], after?.["due_on"] ?? after?.["suspends_on"]].join();
  mustHold(!books.notices.has(notice), () => `${notice} was told twice`);
  books.notices.add(notice);
}

const monthOf = ({ created_at }: StoredRecharge): string => created_at.slice(0, 7);
/** Whether a recharge counts for the limits of its month. */
const took = ({ status }: StoredRecharge): boolean =>
  status !== "failed" && status !== "action_required" && status !== "confirmed";

function checkBeginning({ recharges, settings }: Books, recharge: StoredRecharge): void {
  const all = [...recharges.values()];
  const running = all.filter(({ due_at }) => due_at !== null);
  mustHold(running.length === 1, () => `${running.length} recharges run at once`);
  const ofMonth = all.filter((one) => monthOf(one) === monthOf(recharge) && took(one));
  const sum = ofMonth.reduce((total, { amount }) => total + amount, 0);
  const { monthly_cap = 0, max_per_month = 0, enabled = false } = settings ?? {};
  mustHold(enabled, () => `${recharge.id} began while recharges were off`);
  mustHold(sum <= monthly_cap, () => `${sum} in ${monthOf(recharge)}, and the cap is ${monthly_cap}`);
  mustHold(ofMonth.length <= max_per_month, () => `${ofMonth.length} in a month of ${max_per_month}`);
}

function checkConfirmed(recharge: StoredRecharge | undefined): void {
  const isKnown = recharge?.status === "confirmed" || recharge?.status === "succeeded";
  mustHold(isKnown, () => `${recharge?.id} is ${recharge?.status}, and its page was paid`);
}

function checkOwed({ state, owed }: Books): void {
  mustHold((state?.owed ?? 0) === owed, () => `${state?.owed} is owed, and the ledger says ${owed}`);
  const parts = (state?.owed_parts ?? []).reduce((sum, { amount }) => sum + amount, 0);
  mustHold(parts === owed, () => `${owed} is owed, and its parts are ${parts}`);
}

function checkCredit({ charges }: RechargeScene, { id, amount }: StoredMovement): void {
  if (!id.startsWith("recharge/")) return;
  const charged = charges.filter(({ reference }) => `recharge/${reference}` === id);
  const paid = charged.filter(({ status }) => status === "succeeded");
  mustHold(paid.length === 1, () => `${id} was credited, and the card was charged ${paid.length} times`);
  mustHold(paid[0]?.amount === amount, () => `${id} was credited ${amount} of ${paid[0]?.amount}`);
}
