import * as z from "zod";

import { Currency, defaultCurrency, MoneyText } from "../core/money.ts";
import { Day, dayOf, nextMonth, plusDays, Timestamp } from "../core/time.ts";
import { type Block, sentence } from "../letters/letter.ts";
import { defaultPlan, leavingDays } from "../wallet/catalogue.ts";
import { amountText, callOf, dateText, type NoticeEvent, type NoticeMaker, paragraph, topUp } from "./notice.ts";

type Facts = Extract<Block, { facts: unknown }>["facts"];

const CurrencyOfEvent = Currency.default(defaultCurrency);

/** The facts whose values the event has. */
const knownFacts = (...facts: (readonly [string, string | undefined])[]): Facts =>
  facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));

const EventBalance = z.object({
  balance: MoneyText.optional(),
  available: MoneyText.optional(),
  threshold: MoneyText.optional(),
  currency: CurrencyOfEvent,
});

/** All low balances of one day are one matter, so that a balance that goes up and down causes one mail a day. */
const lowBalance: NoticeMaker = (event) => {
  const { balance, available, threshold, currency } = EventBalance.parse(event.data);
  return {
    category: "wallet",
    subject: sentence`Your wallet is running low`,
    blocks: [
      paragraph`The wallet pays your invoices and purchases. If it cannot pay an invoice, the account becomes past due.`,
      {
        facts: knownFacts(
          ["Balance", balance && amountText(balance, currency)],
          ["Available", available && amountText(available, currency)],
          ["Warning below", threshold && amountText(threshold, currency)],
        ),
      },
      ...topUp(event),
    ],
    matter: `billing.wallet.low_balance ${event.timestamp.slice(0, 10)}`,
  };
};

const Shortage = z.object({
  missing: MoneyText,
  expected_charge: MoneyText.optional(),
  available: MoneyText.optional(),
  currency: CurrencyOfEvent,
});
const PastDueSoon = Shortage.extend({ due_on: Day });
const SuspensionSoon = Shortage.extend({ suspends_on: Day });

const shortageFacts = (
  { expected_charge, available, missing, currency }: z.output<typeof Shortage>,
  date: readonly [name: string, day: string],
): Block => ({
  facts: knownFacts(
    ["Expected charge", expected_charge && amountText(expected_charge, currency)],
    ["Available", available && amountText(available, currency)],
    ["Missing", amountText(missing, currency)],
    [date[0], dateText(date[1])],
  ),
});

const pastDueSoon: NoticeMaker = (event) => {
  const shortage = PastDueSoon.parse(event.data);
  return {
    category: "wallet",
    subject: sentence`Your wallet will not cover the invoice of ${dateText(shortage.due_on)}`,
    blocks: [
      paragraph`The next invoice is due on ${dateText(shortage.due_on)}, and the wallet has too little money for it. If the wallet is not topped up, the account becomes past due.`,
      shortageFacts(shortage, ["Due on", shortage.due_on]),
      ...topUp(event, shortage.missing),
    ],
  };
};

const suspensionSoon: NoticeMaker = (event) => {
  const shortage = SuspensionSoon.parse(event.data);
  return {
    category: "account",
    subject: sentence`Your account is suspended on ${dateText(shortage.suspends_on)}`,
    blocks: [
      paragraph`The wallet could not pay the due amount. If the amount stays unpaid, the account is suspended on ${dateText(shortage.suspends_on)}. Then nobody can log in to a mailbox, and nothing can be sent or changed.`,
      shortageFacts(shortage, ["Suspended on", shortage.suspends_on]),
      ...topUp(event, shortage.missing),
    ],
  };
};

const EventPlan = z.object({ from: Day });

const EventInvoice = z.object({
  number: z.string(),
  period_start: Day,
  period_end: Day,
  amount: MoneyText,
  currency: Currency,
  status: z.string(),
});

const invoiceCreated: NoticeMaker = (event) => {
  const { number, period_start, period_end, amount, currency, status } = EventInvoice.parse(event.data);
  const isPaid = status === "paid";
  return {
    category: "invoices",
    subject: sentence`Invoice ${number}: ${amountText(amount, currency)}`,
    blocks: [
      isPaid
        ? paragraph`There is a new invoice. The wallet has paid it, and you need to do nothing.`
        : paragraph`There is a new invoice. It is paid from the wallet as soon as the wallet has the money.`,
      {
        facts: [
          ["Invoice", number],
          ["Period", `${dateText(period_start)} to ${dateText(period_end)}`],
          ["Amount", amountText(amount, currency)],
        ],
      },
      paragraph`This call lists the invoices, with the addresses of their PDFs:`,
      callOf(event, "GET", "/billing/invoices"),
    ],
  };
};

const EventCreditNote = z.object({
  number: z.string(),
  invoice_number: z.string(),
  reason: z.string(),
  amount: MoneyText,
  currency: Currency,
});

const creditNoteCreated: NoticeMaker = (event) => {
  const { number, invoice_number, reason, amount, currency } = EventCreditNote.parse(event.data);
  return {
    category: "invoices",
    subject: sentence`Credit note ${number}: ${amountText(amount, currency)}`,
    blocks: [
      paragraph`There is a credit note for the invoice ${invoice_number}. The amount is in the wallet, and you need to do nothing.`,
      {
        facts: [
          ["Credit note", number],
          ["For invoice", invoice_number],
          ["Amount", amountText(amount, currency)],
          ["Reason", reason],
        ],
      },
      paragraph`This call lists the credit notes, with the addresses of their PDFs:`,
      callOf(event, "GET", "/billing/credit-notes"),
    ],
  };
};

const Payment = z.object({
  amount: MoneyText.optional(),
  /** The amount that the account owes, because the wallet did not have the amount that was taken back. */
  owed: MoneyText.optional(),
  currency: CurrencyOfEvent,
  reason: z.string().nullish(),
  action_url: z.url({ protocol: /^https?$/ }).nullish(),
  /** When a failed recharge is tried again. Absent in events of earlier versions. */
  retry_at: Timestamp.nullish(),
});

/** The notice of a problem with recharges from the saved card. */
const recharge =
  (subject: string, happened: (amount: string) => Block, whatToDo: (event: NoticeEvent) => Block[]): NoticeMaker =>
  (event) => {
    const { amount, currency, reason, action_url, retry_at } = Payment.parse(event.data);
    const sum = amount === undefined ? "an amount" : amountText(amount, currency);
    return {
      category: "wallet",
      subject: sentence`${subject}`,
      blocks: [
        happened(sum),
        ...(retry_at ? [paragraph`We try again on ${dateText(dayOf(new Date(retry_at)))}.`] : []),
        ...(reason ? [paragraph`The reason: ${reason}`] : []),
        ...(action_url ? [{ button: "Pay now", link: action_url }] : whatToDo(event)),
      ],
    };
  };

const limitReached: NoticeMaker = (event) => {
  const { reason } = Payment.parse(event.data);
  return {
    category: "wallet",
    subject: sentence`Automatic recharges have reached their limit for this month`,
    blocks: [
      paragraph`The wallet needs another recharge, but your limits do not allow one before ${dateText(nextMonth(dayOf(new Date(event.timestamp))))}.`,
      ...(reason ? [paragraph`The reason: ${reason}`] : []),
      paragraph`This call changes the limits. Send \`monthly_cap\`, \`max_per_month\` or both:`,
      callOf(event, "PATCH", "/billing/auto-recharge", { monthly_cap: "200.00" }),
      ...topUp(event),
    ],
  };
};

/** The notice of a top-up that was paid although the account is closed. */
const paidAfterClosing: NoticeMaker = (event, _, account) => {
  if (account?.status !== "closed" || event.timestamp < account.updated_at) return undefined;
  const { amount, currency } = Payment.parse(event.data);
  const payment = amount === undefined ? "A payment" : `A payment of ${amountText(amount, currency)}`;
  return {
    category: "account",
    subject: sentence`We got a payment for your closed account`,
    blocks: [
      paragraph`${payment} arrived after the account was closed. It is in the account's wallet, and pays what the account still owes.`,
      paragraph`Write to the support of Hosted Mail to get back the rest.`,
    ],
  };
};

const resume = (event: NoticeEvent): Block[] => [
  paragraph`This call begins a plan. Then everything works as before:`,
  callOf(event, "POST", "/billing/change-plan", { plan_id: defaultPlan }),
];

const planEnded: NoticeMaker = (event) => {
  const { from } = EventPlan.parse(event.data);
  const closing = plusDays(dayOf(new Date(event.timestamp)), leavingDays);
  return {
    category: "account",
    subject: sentence`Your plan has ended`,
    blocks: [
      paragraph`The account has had no plan since ${dateText(from)}. Mail is received, read and forwarded, but nothing is sent. On ${dateText(closing)} the mailboxes are closed, and nobody can log in to them. Nothing is deleted.`,
      ...resume(event),
    ],
  };
};

const planLapsed: NoticeMaker = (event) => ({
  category: "account",
  subject: sentence`Your mailboxes are closed`,
  blocks: [
    paragraph`The account has had no plan for ${leavingDays} days. Nobody can log in to its mailboxes, and nothing is sent or forwarded. Mail is still received, and nothing is deleted.`,
    ...resume(event),
  ],
});

/**
 * The notice of a payment that was taken back, or that came back. If the account owes money for the payment, the
 * account is past due.
 */
const takenBack =
  (subject: string, happened: (payment: string) => Block): NoticeMaker =>
  (event) => {
    const { amount, owed, currency } = Payment.parse(event.data);
    const payment = amount === undefined ? "A payment" : `A payment of ${amountText(amount, currency)}`;
    const isOwed = owed !== undefined && owed !== "0.00";
    return {
      category: isOwed ? "account" : "wallet",
      subject: sentence`${subject}`,
      blocks: [
        happened(payment),
        ...(isOwed
          ? [
              paragraph`The wallet does not have the amount. You owe ${amountText(owed, currency)}, and the account is past due until you have paid.`,
              ...topUp(event, owed),
            ]
          : []),
      ],
    };
  };

/** The notices about money, by the type of their event. */
export const billingNotices: Record<string, NoticeMaker> = {
  "billing.wallet.low_balance": lowBalance,
  "billing.wallet.past_due_soon": pastDueSoon,
  "billing.wallet.suspension_soon": suspensionSoon,
  "billing.invoice.created": invoiceCreated,
  "billing.credit_note.created": creditNoteCreated,
  "billing.recharge.failed": recharge(
    "The wallet could not be recharged",
    (sum) => paragraph`We tried to take ${sum} from the saved card, to recharge the wallet. It did not work.`,
    topUp,
  ),
  "billing.recharge.action_required": recharge(
    "Confirm the recharge of your wallet",
    (sum) =>
      paragraph`The bank wants you to confirm the payment of ${sum} that recharges the wallet. The wallet gets the money only after you have confirmed the payment.`,
    topUp,
  ),
  "billing.recharge.disabled": recharge(
    "Automatic recharges are switched off",
    () => paragraph`The wallet is not recharged from the saved card any more.`,
    (event) => [
      paragraph`Save another card. This call answers the address of a page to save it on:`,
      callOf(event, "POST", "/billing/payment-method-session"),
      paragraph`Then switch automatic recharges on again:`,
      callOf(event, "PATCH", "/billing/auto-recharge", { enabled: true }),
      ...topUp(event),
    ],
  ),
  "billing.recharge.limit_reached": limitReached,
  "billing.topup.paid": paidAfterClosing,
  "billing.plan.ended": planEnded,
  "billing.plan.lapsed": planLapsed,
  "billing.dispute.opened": takenBack(
    "A payment is disputed",
    (payment) => paragraph`${payment} was disputed at the payer's bank, which has taken the money back.`,
  ),
  "billing.dispute.won": takenBack(
    "A disputed payment is yours again",
    (payment) => paragraph`${payment} that was disputed is in the wallet again.`,
  ),
  "billing.dispute.lost": takenBack(
    "A disputed payment is lost",
    (payment) => paragraph`${payment} that was disputed went back to the payer for good.`,
  ),
  "billing.refund.created": takenBack(
    "A payment was refunded",
    (payment) => paragraph`${payment} went back to the payer, out of the wallet.`,
  ),
  "billing.refund.failed": takenBack(
    "A refund could not be paid out",
    (payment) =>
      paragraph`${payment} was to go back to the payer, but the payer's bank did not take it. The money is in the wallet again. Write to the support of Hosted Mail if you want it paid out another way.`,
  ),
};
