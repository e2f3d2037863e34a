import * as z from "zod";

import { change, defineKind, type Change } from "../../changes/kind.ts";
import { recorder, type ChangePlan } from "../../changes/recorder.ts";
import { Currency, currency, money, MoneyText } from "../../core/money.ts";
import type { DisputeEvent, RefundEvent } from "../../providers/payments/payments.ts";
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
 *   what was refunded of a payment   ACCOUNT#<id> / REFUNDED#<payment>
 *   a dispute by its id              ACCOUNT#<id> / DISPUTE#<dispute>
 */
const refundedKey = (accountId: string, paymentId: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `REFUNDED#${paymentId}`,
});
const disputeKey = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `DISPUTE#${id}` });

const StoredRefund = z.object({ payment_id: z.string(), refunded: z.int().min(0), version: z.int() });

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
  id: z.string().meta({ description: "The payment provider's id." }),
  amount: MoneyText.meta({ description: "The amount that is taken back." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  owed: MoneyText.meta({ description: "What the account owes now, because the wallet did not have the amount." }),
};

export const refundKind = defineKind({
  name: "billing.refund",
  verbs: ["created"],
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

/** What an event does: to the wallet, to stored rows, and the change to record, which says what is owed afterwards. */
type Booking = {
  update: (book: AccountBilling) => void;
  write: Write;
  change: (owed: string) => Change;
};

/** Books an event about money that the provider takes back or returns. A repeat changes nothing. */
async function bookEvent(
  { accountId, id, currency: given }: RefundEvent | DisputeEvent,
  { table, now, log }: ReturnContext,
  plan: () => Promise<Booking | undefined>,
): Promise<Outcome> {
  if (given !== currency) {
    log.error("a payment in another currency was taken back", { event_id: id, currency: given });
    return "ignored";
  }
  const author = { action: "system: payment", actor: { type: "system" as const, id: "payments" }, requestId: id };
  const outcome = await recorder({ table, accountId, author, now })(async (): Promise<ChangePlan<Outcome>> => {
    const booking = await plan();
    if (!booking) return { value: "known", writes: [], changes: [] };
    const { book, writes, changes } = await planBilling(table, accountId, now(), (opened) => {
      booking.update(opened);
      payOpen(opened);
    });
    return {
      value: "handled",
      writes: [...writes, booking.write],
      changes: [...changes, booking.change(money(book.state.owed))],
    };
  });
  if (outcome === "handled") await payOwed(accountId, id, { table, now, log });
  return outcome;
}

/**
 * Takes out of the wallet what the provider refunded of a payment. The event says the sum of all refunds so far, so an
 * event that is late or repeated takes nothing more.
 */
export function handleRefund(event: RefundEvent, context: ReturnContext): Promise<Outcome> {
  const { accountId, paymentId, refunded } = event;
  const key = refundedKey(accountId, paymentId);
  return bookEvent(event, context, async () => {
    const before = await context.table.get(key, StoredRefund);
    const amount = refunded - (before?.refunded ?? 0);
    if (amount <= 0) return undefined;
    const id = `refund/${paymentId}/${refunded}`;
    const version = (before?.version ?? 0) + 1;
    return {
      update: (book) => takeBack(book, { id, amount, type: "refund", description: "Refund of a payment" }),
      write: {
        put: { ...key, payment_id: paymentId, refunded, version },
        if: before ? { version: before.version } : "absent",
      },
      change: (owed) =>
        change(refundKind, "created", paymentId, { after: { id: paymentId, amount: money(amount), currency, owed } }),
    };
  });
}

/** The provider's decision can only go up these ranks: a dispute that was lost can be won by an appeal. */
const ranks = { open: 0, lost: 1, won: 2 };
const verbs = { open: "opened", lost: "lost", won: "won" } as const;

/**
 * Takes a disputed amount out of the wallet when the dispute opens, and gives it back if the dispute is won. Events may
 * come in any order.
 */
export function handleDispute(event: DisputeEvent, context: ReturnContext): Promise<Outcome> {
  const { accountId, disputeId, paymentId, amount, status, reason } = event;
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
      change: (owed) =>
        change(disputeKind, verbs[status], disputeId, {
          after: { ...after, amount: money(after.amount), currency, owed },
        }),
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
