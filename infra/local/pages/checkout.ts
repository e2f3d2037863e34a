import { Problem, notFound } from "../../../shared/core/errors.ts";
import { money } from "../../../shared/core/money.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import {
  type Act,
  type StoredCheckout,
  eventBodyOf,
  getStoredCheckout,
  settleCheckout,
  stripeSignature,
  checkoutStatus,
} from "../../../shared/providers/payments/embedded.ts";
import type { Table } from "../../../shared/table/table.ts";
import { seller } from "../../../shared/wallet/catalogue.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import {
  type CardFault,
  type CardValues,
  cardForm,
  cardTable,
  cardValues,
  emptyCard,
  readCard,
  checkoutCards,
} from "./card-form.ts";
import { isOwnForm, refuseForeignForm, wantsJson } from "./forms.ts";
import { link, payerPage, webAddress } from "./payer-html.ts";

/** The answer of the product's webhook endpoint to one event. The status is 0 if there was no answer. */
type Delivery = { eventId: string; status: number; body: string };

type Button = { path: Act | "pay-twice"; text: string };

const openButtons: Button[] = [
  { path: "pay", text: "Pay" },
  { path: "decline", text: "Decline" },
  { path: "pay-twice", text: "Pay twice" },
  { path: "close", text: "Close" },
];
const endedButtons: Button[] = [{ path: "pay-late", text: "Pay late" }];

const buttonsOf = (checkout: StoredCheckout, now: Date): Button[] => {
  const status = checkoutStatus(checkout, now);
  if (status === "open") return openButtons;
  if (status === "processing") return [];
  const canClose = status === "expired" && checkout.outcome === "open";
  return canClose ? [...endedButtons, { path: "close", text: "Close" }] : endedButtons;
};

const outcomeTexts: Record<StoredCheckout["outcome"], string> = {
  open: "Open",
  paid: "Paid",
  failed: "Declined",
  expired: "Closed without a payment",
};

const checkoutState = (checkout: StoredCheckout, now: Date): string =>
  checkout.outcome === "open" && checkoutStatus(checkout, now) === "expired"
    ? "Expired, not closed yet"
    : outcomeTexts[checkout.outcome];

function factList(checkout: StoredCheckout, now: Date): string {
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

function testButtons(checkout: StoredCheckout, now: Date): string {
  const buttons = buttonsOf(checkout, now).map(
    ({ path, text }) => `<button formaction="/_local/checkout/${escapeHtml(checkout.id)}/${path}">${text}</button>`,
  );
  return buttons.length === 0 ? "" : `<form class="buttons" method="post">${buttons.join("\n")}</form>`;
}

/** The section about the webhooks that this request sent. Empty if it sent none. */
function webhooksSection(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return "";
  const items = deliveries.map(
    ({ eventId, status, body }) =>
      `<li>${escapeHtml(eventId)}: ${status === 0 ? "no answer" : `answered ${status}`}<pre>${escapeHtml(body)}</pre></li>`,
  );
  const role = deliveries.every(({ status }) => status === 200) ? "status" : "alert";
  return `<section role="${role}"><h3>Webhooks sent</h3><ul>${items.join("\n")}</ul></section>`;
}

/** The address of the success page or the cancel page. Undefined if it is not a web address. */
const addressOf = (template: string | undefined, checkout: StoredCheckout): string | undefined =>
  webAddress(template?.replaceAll("{CHECKOUT_SESSION_ID}", checkout.id));

/** The data that the page shows besides the checkout. */
type Shown = {
  status?: number;
  /** The webhooks that this request sent. */
  deliveries?: readonly Delivery[];
  notice?: string;
  card?: { values: CardValues; fault: CardFault };
  /** Whether the payer has just paid. The page then leads to the success page. */
  isLeaving?: boolean;
};

const priceOf = ({ amount, currency }: StoredCheckout): string => `${money(amount)} ${currency}`;

/** The right side of the page: the card form of an open checkout, or the state of any other checkout. */
function payment(checkout: StoredCheckout, now: Date, { card }: Shown): string {
  if (checkoutStatus(checkout, now) === "open") {
    const { values, fault } = card ?? { values: emptyCard, fault: undefined };
    const form = cardForm(`/_local/checkout/${checkout.id}/card`, `Pay ${priceOf(checkout)}`, values, fault);
    return `<h2>Pay by card</h2>${form}`;
  }
  if (checkout.outcome !== "paid") return `<h2>${checkoutState(checkout, now)}</h2><p>Nothing was taken.</p>`;
  return `<h2>Payment successful</h2><p>${seller.name} has received ${priceOf(checkout)}.</p>
    ${link(`Continue to ${seller.name}`, addressOf(checkout.success_url, checkout))}`;
}

/** The page of a checkout. */
function checkoutAnswer(checkout: StoredCheckout, now: Date, shown: Shown = {}): Answer {
  const { status, deliveries = [], notice, isLeaving = false } = shown;
  const isPaid = checkout.outcome === "paid";
  const openAttribute = deliveries.length > 0 ? " open" : "";
  return payerPage({
    ...(status === undefined ? {} : { status }),
    title: `Pay ${seller.name}`,
    leadTo: isLeaving && isPaid ? addressOf(checkout.success_url, checkout) : undefined,
    content: `<div>
        ${isPaid ? "" : link(`← Back to ${seller.name}`, addressOf(checkout.cancel_url, checkout))}
        <h1>Pay ${seller.name}<strong>${priceOf(checkout)}</strong></h1>
        <p>${escapeHtml(checkout.description)}</p>
      </div>
      <div class="card">
        ${notice === undefined ? "" : `<div role="alert"><p>${escapeHtml(notice)}</p></div>`}
        ${payment(checkout, now, shown)}
      </div>
      <section class="wide card" aria-labelledby="testing">
        <h2 id="testing">For testing</h2>
        ${webhooksSection(deliveries)}
        ${cardTable("Result", checkoutCards)}<p>Use any date in the future and any three digits.</p>
        <details${openAttribute}>
          <summary>Results of the payment provider, and the checkout's data</summary>
          <p>Each button sends the product the webhook that Stripe would send.</p>
          ${testButtons(checkout, now)}
          ${factList(checkout, now)}
        </details>
      </section>`,
  });
}

/** The page on which the payer's bank asks for a confirmation. */
const bankPage = (checkout: StoredCheckout): Answer =>
  payerPage({
    title: "Confirm your payment",
    content: `<div class="card wide">
        <h1>Your bank asks<strong>Do you pay ${priceOf(checkout)} to ${seller.name}?</strong></h1>
        <p>A bank would ask for a code or its app here.</p>
        <form class="buttons" method="post" action="/_local/checkout/${checkout.id}/confirm">
          <button name="answer" value="yes">Yes, pay</button>
          <button name="answer" value="no">No</button>
        </form>
      </div>`,
  });

export type PaymentSettings = {
  table: Table;
  /** The secret that signs webhooks. The product verifies webhooks with the same secret. */
  webhookSecret: string;
  now: () => Date;
};

/** The path to which Stripe would send webhooks. */
const webhookPath = "/v1/public/webhooks/payments";

const deliveryTimeoutMs = 20_000;

/**
 * Posts an event to the product over HTTP, like Stripe. Returns the answer. The status is 0 if there was no answer, and
 * the body is then the error.
 */
export async function postWebhook(
  body: string,
  { port }: LocalRequest,
  { webhookSecret, now }: PaymentSettings,
): Promise<{ status: number; body: string }> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${webhookPath}`, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "Stripe/1.0 (embedded)",
        "stripe-signature": stripeSignature(body, webhookSecret, now()),
      },
      body,
      signal: AbortSignal.timeout(deliveryTimeoutMs),
    });
    return { status: response.status, body: await response.text() };
  } catch (error) {
    return { status: 0, body: error instanceof Error ? error.message : String(error) };
  }
}

/** Sends the product the event of a checkout. */
async function deliverEvent(
  checkout: StoredCheckout,
  request: LocalRequest,
  settings: PaymentSettings,
): Promise<Delivery> {
  const body = eventBodyOf(checkout);
  const eventId = String((JSON.parse(body) as { id: unknown }).id);
  return { eventId, ...(await postWebhook(body, request, settings)) };
}

/** Returns the page of `show`, or a 404 page if the checkout does not exist. */
async function orMissing(show: () => Promise<Answer>): Promise<Answer> {
  try {
    return await show();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
    const content = `<div class="wide card"><h1><strong>No such checkout</strong></h1><p>${escapeHtml(notFound().message)}</p></div>`;
    return payerPage({ status: 404, title: "No such checkout", content });
  }
}

const tooLate = "The state of the checkout does not allow this any more.";

async function performAct(act: Act, count: number, request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  const id = request.params["id"] ?? "";
  if (!isOwnForm(request)) return refuseForeignForm();
  return orMissing(async () => {
    const settled = await settleCheckout(table, id, act, now());
    if (!settled) {
      if (wantsJson(request)) return jsonAnswer(409, { message: tooLate });
      return checkoutAnswer(await getStoredCheckout(table, id), now(), { status: 409, notice: tooLate });
    }
    const deliveries = await Promise.all(Array.from({ length: count }, () => deliverEvent(settled, request, settings)));
    if (wantsJson(request)) return jsonAnswer(200, { checkout: settled, deliveries });
    return checkoutAnswer(settled, now(), { deliveries });
  });
}

/**
 * Pays a checkout like a payer, and leads to the success page. If the webhook fails, shows the answer to the webhook on
 * the checkout's page.
 */
async function payAndLeave(id: string, request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  const settled = await settleCheckout(table, id, "pay", now());
  if (!settled) return checkoutAnswer(await getStoredCheckout(table, id), now(), { status: 409, notice: tooLate });
  const delivery = await deliverEvent(settled, request, settings);
  if (delivery.status !== 200) return checkoutAnswer(settled, now(), { deliveries: [delivery] });
  // The page's content security policy lets no form lead to another origin, not even by a redirect. So this answer
  // redirects to the checkout's page, which leads to the success page.
  return { status: 303, headers: { location: `/_local/checkout/${id}?paid` }, body: Buffer.alloc(0) };
}

/** Charges the card in the form. Pays, asks for a confirmation, or shows the mistake in the card. */
async function chargeCard(request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  const id = request.params["id"] ?? "";
  if (!isOwnForm(request)) return refuseForeignForm();
  return orMissing(async () => {
    const checkout = await getStoredCheckout(table, id);
    const values = cardValues(new URLSearchParams(request.body.toString()));
    const card = readCard(values, now());
    if (card === "works") return payAndLeave(id, request, settings);
    if (card === "confirm") return bankPage(checkout);
    const status = card.field === undefined ? 402 : 422;
    return checkoutAnswer(checkout, now(), { status, card: { values, fault: card } });
  });
}

/**
 * Handles the payer's answer to the bank. Pays if the payer confirms. If not, shows the checkout again. The checkout
 * then stays open.
 */
async function answerOfBank(request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  const id = request.params["id"] ?? "";
  if (!isOwnForm(request)) return refuseForeignForm();
  return orMissing(async () => {
    const isConfirmed = new URLSearchParams(request.body.toString()).get("answer") === "yes";
    if (isConfirmed) return payAndLeave(id, request, settings);
    const fault = { field: undefined, message: "You did not confirm the payment. Try again, or use another card." };
    return checkoutAnswer(await getStoredCheckout(table, id), now(), {
      status: 402,
      card: { values: emptyCard, fault },
    });
  });
}

/**
 * `/_local/checkout/{id}`: the checkout of the embedded payments, as a payment page or as JSON.
 * - The card form accepts test cards. After a refused card the checkout stays open, as at Stripe.
 * - Pay, Decline and Close end the checkout, and send the product the webhook.
 * - Pay twice sends one event twice at the same time.
 * - Pay late sends the event of a payment after the checkout has ended. If the event was sent before, sends the same
 *   event again.
 */
export function checkoutPaths(settings: PaymentSettings): LocalPath[] {
  const { table, now } = settings;
  const button = (path: Act | "pay-twice", act: Act, count = 1): LocalPath => ({
    method: "POST",
    path: `/_local/checkout/{id}/${path}`,
    handle: (request) => performAct(act, count, request, settings),
  });
  return [
    {
      method: "GET",
      path: "/_local/checkout/{id}",
      handle: (request) =>
        orMissing(async () => {
          const checkout = await getStoredCheckout(table, request.params["id"] ?? "");
          if (wantsJson(request)) return jsonAnswer(200, { checkout });
          return checkoutAnswer(checkout, now(), { isLeaving: request.query.has("paid") });
        }),
    },
    { method: "POST", path: "/_local/checkout/{id}/card", handle: (request) => chargeCard(request, settings) },
    { method: "POST", path: "/_local/checkout/{id}/confirm", handle: (request) => answerOfBank(request, settings) },
    button("pay", "pay"),
    button("decline", "decline"),
    button("pay-twice", "pay", 2),
    button("pay-late", "pay-late"),
    button("close", "close"),
  ];
}
