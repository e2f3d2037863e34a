import { money } from "../../../shared/core/money.ts";
import { escaped } from "../../../shared/core/text.ts";
import { type Act, statusOf, type StoredCheckout } from "../../../shared/providers/payments/embedded-checkout.ts";
import type { Answer } from "../server/answer.ts";
import { htmlAnswer } from "./html.ts";

/** What the product's webhook endpoint answered to one event; status 0 when it did not. */
export type Delivery = { eventId: string; status: number; body: string };

type Button = { path: Act | "pay-twice"; text: string };

const whenOpen: Button[] = [
  { path: "pay", text: "Pay" },
  { path: "decline", text: "Decline" },
  { path: "pay-twice", text: "Pay twice" },
  { path: "close", text: "Close" },
];
const whenOver: Button[] = [{ path: "pay-late", text: "Pay late" }];

const buttonsOf = (checkout: StoredCheckout, now: Date): Button[] => {
  const status = statusOf(checkout, now);
  if (status === "open") return whenOpen;
  if (status === "processing") return [];
  const canClose = status === "expired" && checkout.outcome === "open";
  return canClose ? [...whenOver, { path: "close", text: "Close" }] : whenOver;
};

const states: Record<StoredCheckout["outcome"], string> = {
  open: "Open",
  paid: "Paid",
  failed: "Declined",
  expired: "Closed without a payment",
};

const stateOf = (checkout: StoredCheckout, now: Date): string =>
  checkout.outcome === "open" && statusOf(checkout, now) === "expired"
    ? "Ran out of time; not closed yet"
    : states[checkout.outcome];

function facts(checkout: StoredCheckout, now: Date): string {
  const rows = [
    ["Amount", `${money(checkout.amount)} ${checkout.currency}`],
    ["For", checkout.description],
    ["Account", checkout.account_id],
    ["Reference", checkout.reference],
    ["State", stateOf(checkout, now)],
    ["Open until", checkout.expires_at],
    ["Checkout", checkout.id],
  ];
  return `<dl>${rows.map(([name = "", value = ""]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join("\n")}</dl>`;
}

function form(checkout: StoredCheckout, now: Date): string {
  const buttons = buttonsOf(checkout, now).map(
    ({ path, text }) => `<button formaction="/_local/checkout/${escaped(checkout.id)}/${path}">${text}</button>`,
  );
  return buttons.length === 0 ? "" : `<form method="post">${buttons.join("\n")}</form>`;
}

function outcome(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return "";
  const items = deliveries.map(
    ({ eventId, status, body }) =>
      `<li>${escaped(eventId)}: ${status === 0 ? "no answer" : `answered ${status}`}<pre>${escaped(body)}</pre></li>`,
  );
  const role = deliveries.every(({ status }) => status === 200) ? "status" : "alert";
  return `<section role="${role}"><h2>Webhooks sent</h2><ul>${items.join("\n")}</ul></section>`;
}

/** The place to return to. Only a web address becomes a link: `javascript:` is a URL as well. */
function way(text: string, template: string | undefined, checkout: StoredCheckout): string {
  const url = template?.replaceAll("{CHECKOUT_SESSION_ID}", checkout.id) ?? "";
  return /^https?:\/\//i.test(url) ? `<p><a href="${escaped(url)}">${text}</a></p>` : "";
}

const onwards = (checkout: StoredCheckout): string =>
  checkout.outcome === "paid"
    ? way("Continue to the success page", checkout.success_url, checkout)
    : way("Back without paying", checkout.cancel_url, checkout);

/** The page of one checkout, with what just became of it. */
export const checkoutAnswer = (
  checkout: StoredCheckout,
  now: Date,
  deliveries: readonly Delivery[] = [],
  status = 200,
  notice = "",
): Answer =>
  htmlAnswer(
    status,
    `${money(checkout.amount)} ${checkout.currency}`,
    [
      notice === "" ? "" : `<p role="alert">${escaped(notice)}</p>`,
      outcome(deliveries),
      facts(checkout, now),
      form(checkout, now),
      onwards(checkout),
      "<p>No money moves here. Each button sends the product the webhook that Stripe would.</p>",
    ].join("\n"),
  );
