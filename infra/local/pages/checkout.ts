import { Problem, notFound } from "../../../shared/core/errors.ts";
import { money } from "../../../shared/core/money.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import {
  type Act,
  type StoredCheckout,
  eventBodyOf,
  getStored,
  settleCheckout,
  stripeSignature,
  checkoutStatus,
} from "../../../shared/providers/payments/embedded.ts";
import type { Table } from "../../../shared/table/table.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { isOwnForm, wantsJson } from "./forms.ts";
import { htmlAnswer } from "./html.ts";

/** The answer of the product's webhook endpoint to one event; status 0 if there was none. */
type Delivery = { eventId: string; status: number; body: string };

type Button = { path: Act | "pay-twice"; text: string };

const whenOpen: Button[] = [
  { path: "pay", text: "Pay" },
  { path: "decline", text: "Decline" },
  { path: "pay-twice", text: "Pay twice" },
  { path: "close", text: "Close" },
];
const whenOver: Button[] = [{ path: "pay-late", text: "Pay late" }];

const buttonsOf = (checkout: StoredCheckout, now: Date): Button[] => {
  const status = checkoutStatus(checkout, now);
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

const checkoutState = (checkout: StoredCheckout, now: Date): string =>
  checkout.outcome === "open" && checkoutStatus(checkout, now) === "expired"
    ? "Expired, not closed yet"
    : states[checkout.outcome];

function facts(checkout: StoredCheckout, now: Date): string {
  const rows = [
    ["Amount", `${money(checkout.amount)} ${checkout.currency}`],
    ["For", checkout.description],
    ["Account", checkout.account_id],
    ["Reference", checkout.reference],
    ["State", checkoutState(checkout, now)],
    ["Open until", checkout.expires_at],
    ["Checkout", checkout.id],
  ];
  return `<dl>${rows.map(([name = "", value = ""]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join("\n")}</dl>`;
}

function form(checkout: StoredCheckout, now: Date): string {
  const buttons = buttonsOf(checkout, now).map(
    ({ path, text }) => `<button formaction="/_local/checkout/${escapeHtml(checkout.id)}/${path}">${text}</button>`,
  );
  return buttons.length === 0 ? "" : `<form method="post">${buttons.join("\n")}</form>`;
}

function outcome(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return "";
  const items = deliveries.map(
    ({ eventId, status, body }) =>
      `<li>${escapeHtml(eventId)}: ${status === 0 ? "no answer" : `answered ${status}`}<pre>${escapeHtml(body)}</pre></li>`,
  );
  const role = deliveries.every(({ status }) => status === 200) ? "status" : "alert";
  return `<section role="${role}"><h2>Webhooks sent</h2><ul>${items.join("\n")}</ul></section>`;
}

/** A link to the success or the cancel page. Only web addresses become links, because `javascript:` is a URL too. */
function pageLink(text: string, template: string | undefined, checkout: StoredCheckout): string {
  const url = template?.replaceAll("{CHECKOUT_SESSION_ID}", checkout.id) ?? "";
  return /^https?:\/\//i.test(url) ? `<p><a href="${escapeHtml(url)}">${text}</a></p>` : "";
}

const returnLink = (checkout: StoredCheckout): string =>
  checkout.outcome === "paid"
    ? pageLink("Continue to the success page", checkout.success_url, checkout)
    : pageLink("Back without paying", checkout.cancel_url, checkout);

/** The page of a checkout, with the webhooks just sent. */
const checkoutAnswer = (
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
      notice === "" ? "" : `<p role="alert">${escapeHtml(notice)}</p>`,
      outcome(deliveries),
      facts(checkout, now),
      form(checkout, now),
      returnLink(checkout),
      "<p>No money moves on this page. Each button sends the product the webhook that Stripe would send.</p>",
    ].join("\n"),
  );

type CheckoutPageOptions = {
  table: Table;
  /** The secret with which the product verifies webhooks. */
  webhookSecret: string;
  now?: () => Date;
};

/** The path to which Stripe would send webhooks. */
const webhookPath = "/v1/public/webhooks/payments";

const deliveryTimeoutMs = 20_000;

/** Posts an event to the product over HTTP, as Stripe does. A network error becomes a delivery too. */
async function deliverEvent(checkout: StoredCheckout, port: number, secret: string, now: Date): Promise<Delivery> {
  const body = eventBodyOf(checkout);
  const eventId = String((JSON.parse(body) as { id: unknown }).id);
  try {
    const response = await fetch(`http://127.0.0.1:${port}${webhookPath}`, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "Stripe/1.0 (embedded)",
        "stripe-signature": stripeSignature(body, secret, now),
      },
      body,
      signal: AbortSignal.timeout(deliveryTimeoutMs),
    });
    return { eventId, status: response.status, body: await response.text() };
  } catch (error) {
    return { eventId, status: 0, body: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns the page of `show`, or a 404 page if the checkout does not exist. */
async function orMissing(show: () => Promise<Answer>): Promise<Answer> {
  try {
    return await show();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
    return htmlAnswer(404, "No such checkout", `<p>${escapeHtml(notFound().message)}</p>`);
  }
}

type CheckoutSettings = Required<CheckoutPageOptions>;

async function performAct(act: Act, count: number, request: LocalRequest, place: CheckoutSettings): Promise<Answer> {
  const { table, webhookSecret, now } = place;
  const id = request.params["id"] ?? "";
  if (!isOwnForm(request)) return jsonAnswer(403, { message: "Another site sent this form, so it is refused." });
  return orMissing(async () => {
    const settled = await settleCheckout(table, id, act, now());
    if (!settled) {
      const notice = "The checkout is no longer in a state for this.";
      if (wantsJson(request)) return jsonAnswer(409, { message: notice });
      return checkoutAnswer(await getStored(table, id), now(), [], 409, notice);
    }
    const deliveries = await Promise.all(
      Array.from({ length: count }, () => deliverEvent(settled, request.port, webhookSecret, now())),
    );
    if (wantsJson(request)) return jsonAnswer(200, { checkout: settled, deliveries });
    return checkoutAnswer(settled, now(), deliveries);
  });
}

/**
 * `/_local/checkout/{id}`: the checkout of the embedded payments, as a page with buttons or as JSON.
 * - Pay, Decline and Close end the checkout and send the product its webhook.
 * - Pay twice sends one event twice at the same time.
 * - Pay late sends the event of a payment after the checkout is over; if it was sent before, the same event again.
 */
export function checkoutPaths(options: CheckoutPageOptions): LocalPath[] {
  const place: CheckoutSettings = { now: () => new Date(), ...options };
  const { table, now } = place;
  const button = (path: Act | "pay-twice", act: Act, count = 1): LocalPath => ({
    method: "POST",
    path: `/_local/checkout/{id}/${path}`,
    handle: (request) => performAct(act, count, request, place),
  });
  return [
    {
      method: "GET",
      path: "/_local/checkout/{id}",
      handle: (request) =>
        orMissing(async () => {
          const checkout = await getStored(table, request.params["id"] ?? "");
          return wantsJson(request) ? jsonAnswer(200, { checkout }) : checkoutAnswer(checkout, now());
        }),
    },
    button("pay", "pay"),
    button("decline", "decline"),
    button("pay-twice", "pay", 2),
    button("pay-late", "pay-late"),
    button("close", "close"),
  ];
}
