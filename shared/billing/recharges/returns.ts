import * as z from "zod";

import { getAccount } from "../../accounts/visible.ts";
import { change, defineKind, type Change } from "../../changes/kind.ts";
import { systemAuthor } from "../../changes/record.ts";
import { recorder, type ChangePlan } from "../../changes/recorder.ts";
import { Currency, money, MoneyText } from "../../core/money.ts";
import type { DisputeEvent, Refund, RefundEvent } from "../../providers/payments/payments.ts";
import type { Key, Write } from "../../table/writes.ts";
import { planBilling, type AccountBilling } from "../book.ts";
import { giveBack, takeBack } from "../owed.ts";
import { payOwed } from "../payments.ts";
import { payOpen } from "../settle.ts";
import type { RechargeContext } from "./recharge.ts";

/*
 * Payments that the provider takes back.
 *
 * Access patterns
 *   the refunds of a payment   ACCOUNT#<id> / REFUNDED#<payment>
 *   a dispute by its id        ACCOUNT#<id> / DISPUTE#<dispute>
 */
const refundedKey = (accountId: string, paymentId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `REFUNDED#${paymentId}`,
});
const disputeKey = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `DISPUTE#${id}` });

const StoredRefunds = z.object({
  payment_id: z.string(),
  /**
   * The amount taken out of the wallet for refunds of the payment, in minor units. A refund that failed stays in the
   * sum.
   */
  refunded: z.int().min(0),
  /**
   * The ids of the refunds in `refunded`. Absent in rows of earlier versions. If absent, the oldest refunds whose
   * amounts fit into `refunded` count as taken.
   */
  taken: z.array(z.string()).optional(),
  /**
   * The ids of the refunds that failed. If a failed refund was taken out of the wallet, its amount is in the wallet
   * again.
   */
  failed: z.array(z.string()).default([]),
  version: z.int(),
});
type StoredRefunds = z.output<typeof StoredRefunds>;

const StoredDispute = z.object({
  id: z.string(),
  payment_id: z.string(),
  /** In minor units. */
  amount: z.int().min(1),
  status: z.enum(["open", "lost", "won"]),
  reason: z.string(),
  version: z.int(),
});
type StoredDispute = z.output<typeof StoredDispute>;

const common = {
  id: z.string().meta({ description: "The payment provider's id of the refunded payment or of the dispute." }),
  amount: MoneyText.meta({ description: "The amount that is taken back, or that comes back." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  owed: MoneyText.meta({ description: "The amount that the account owes now for payments that were taken back." }),
};

export const refundKind = defineKind({
  name: "billing.refund",
  verbs: ["created", "failed"],
  view: z.object(common),
  seenWith: "billing.view",
});

export const disputeKind = defineKind({
  name: "billing.dispute",
  verbs: ["opened", "won", "lost"],
  view: z.object({
    ...common,
    status: StoredDispute.shape.status.meta({ description: "`won` gives the amount back to the wallet." }),
    reason: z.string().meta({ description: "The reason that the bank gives, in the provider's words." }),
  }),
  seenWith: "billing.view",
});

type ReturnContext = Pick<RechargeContext, "table" | "now" | "log">;
type Outcome = "handled" | "known" | "ignored";

/**
 * The effects of an event: the update of the wallet, the write of a stored row, and the changes to record. `owed` is
 * the account's debt after the event.
 */
type Booking = {
  update: (book: AccountBilling) => void;
  write: Write;
  changes: (owed: string) => Change[];
};

/** Books an event about money that the provider takes back or returns. A repeat changes nothing. */
async function bookEvent(
  { accountId, id, currency: given }: RefundEvent | DisputeEvent,
  { table, now, log }: ReturnContext,
  plan: () => Promise<Booking | undefined>,
): Promise<Outcome> {
  const { currency } = await getAccount(table, accountId);
  if (given !== currency) {
    log.error("a payment in another currency was taken back", { event_id: id, currency: given, expected: currency });
    return "ignored";
  }
  const author = systemAuthor("payment", "payments", id);
  const outcome = await recorder({ table, accountId, author, now })(async (): Promise<ChangePlan<Outcome>> => {
    let booking: Booking | undefined;
    // Another process can book the same event meanwhile. In this case the billing is opened again, and the event is
    // planned again.
    const { book, writes, changes } = await planBilling(table, accountId, now(), async (opened) => {
      booking = await plan();
      if (!booking) return;
      booking.update(opened);
      payOpen(opened);
    });
    if (!booking) return { value: "known", writes: [], changes: [] };
    return {
      value: "handled",
      writes: [...writes, booking.write],
      changes: [...changes, ...booking.changes(money(book.state.owed))],
      housekeeping: true,
    };
  });
  if (outcome === "handled") await payOwed(accountId, id, { table, now, log });
  return outcome;
}

/** The ids of the refunds that were taken out of the wallet, according to the stored row `before`. */
function takenOf(before: StoredRefunds | undefined, refunds: readonly Refund[]): string[] {
  if (before?.taken) return before.taken;
  let left = before?.refunded ?? 0;
  return refunds.flatMap(({ id, amount }) => {
    left -= amount;
    return left >= 0 ? [id] : [];
  });
}

/**
 * The effects of a report about refunds. The ids that were stored before:
 * - `taken`: refunds that were taken out of the wallet;
 * - `failed`: refunds that were known to have failed.
 *
 * The news in the report:
 * - `failing`: refunds that are reported as failed for the first time;
 * - `toTake`: refunds to take out of the wallet;
 * - `toGiveBack`: the refunds of `failing` that were taken, to put back.
 */
function newsOf(before: StoredRefunds | undefined, refunds: readonly Refund[]) {
  const taken = takenOf(before, refunds);
  const failed = before?.failed ?? [];
  const fresh = refunds.filter(({ id }) => !failed.includes(id));
  const failing = fresh.filter(({ isFailed }) => isFailed);
  return {
    taken,
    failed,
    failing,
    toTake: fresh.filter(({ id, isFailed }) => !isFailed && !taken.includes(id)),
    toGiveBack: failing.filter(({ id }) => taken.includes(id)),
  };
}

/**
 * Takes refunded amounts out of the wallet, and puts back the amount of a refund that failed at the bank. A refund is
 * taken once, and put back once. A refund that is known to have failed is never taken, so events may come in any order.
 */
export function handleRefund(event: RefundEvent, context: ReturnContext): Promise<Outcome> {
  const { accountId, paymentId, refunds, currency } = event;
  const key = refundedKey(accountId, paymentId);
  return bookEvent(event, context, async () => {
    const before = await context.table.get(key, StoredRefunds);
    const { taken, failed, failing, toTake, toGiveBack } = newsOf(before, refunds);
    if (toTake.length + failing.length === 0) return undefined;
    const after: StoredRefunds = {
      payment_id: paymentId,
      refunded: toTake.reduce((sum, { amount }) => sum + amount, before?.refunded ?? 0),
      taken: [...taken, ...toTake.map(({ id }) => id)],
      failed: [...failed, ...failing.map(({ id }) => id)],
      version: (before?.version ?? 0) + 1,
    };
    const movement = (id: string): string => `refund/${paymentId}/${id}`;
    return {
      update: (book) => {
        for (const { id, amount } of toTake)
          takeBack(book, { id: movement(id), amount, type: "refund", description: "Refund of a payment" });
        for (const { id, amount } of toGiveBack)
          giveBack(book, `${movement(id)}/failed`, amount, "Refund that could not be paid out");
      },
      write: { put: { ...key, ...after }, if: before ? { version: before.version } : "absent" },
      changes: (owed) => [
        ...toTake.map(({ amount }) => refundChange("created", { paymentId, amount, currency, owed })),
        ...toGiveBack.map(({ amount }) => refundChange("failed", { paymentId, amount, currency, owed })),
      ],
    };
  });
}

type RefundFacts = { paymentId: string; amount: number; currency: string; owed: string };

const refundChange = (verb: "created" | "failed", { paymentId, amount, currency, owed }: RefundFacts): Change =>
  change(refundKind, verb, paymentId, { after: { id: paymentId, amount: money(amount), currency, owed } });

/** A dispute only moves to a status of a higher rank. A dispute that was lost can still be won by an appeal. */
const ranks = { open: 0, lost: 1, won: 2 };
const verbs = { open: "opened", lost: "lost", won: "won" } as const;

/**
 * Takes a disputed amount out of the wallet when the dispute opens, and gives it back if the dispute is won. Events may
 * come in any order.
 */
export function handleDispute(event: DisputeEvent, context: ReturnContext): Promise<Outcome> {
  const { accountId, disputeId, paymentId, amount, currency, status, reason } = event;
  const key = disputeKey(accountId, disputeId);
  return bookEvent(event, context, async () => {
    const before = await context.table.get(key, StoredDispute);
    if (before && ranks[status] <= ranks[before.status]) return undefined;
    const after: StoredDispute = {
      ...(before ?? { id: disputeId, payment_id: paymentId, amount, reason }),
      status,
      version: (before?.version ?? 0) + 1,
    };
    return {
      update: (book) => moveDisputed(book, before, after),
      write: { put: { ...key, ...after }, if: before ? { version: before.version } : "absent" },
      changes: (owed) => [
        change(disputeKind, verbs[status], disputeId, {
          after: { ...after, amount: money(after.amount), currency, owed },
        }),
      ],
    };
  });
}

function moveDisputed(
  book: AccountBilling,
  before: StoredDispute | undefined,
  { id, status, amount }: StoredDispute,
): void {
  const movement = `dispute/${id}`;
  const wasTaken = before !== undefined;
  if (status === "won") {
    if (wasTaken) giveBack(book, `${movement}/won`, amount, "Disputed payment: decided for you");
    return;
  }
  if (!wasTaken) takeBack(book, { id: movement, amount, type: "adjustment", description: "Disputed payment" });
}
