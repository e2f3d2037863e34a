import { Problem, notFound } from "../../../shared/core/errors.ts";
import { money } from "../../../shared/core/money.ts";
import { escapeHtml } from "../../../shared/core/text.ts";
import {
  EnteredCard,
  getSetup,
  listCharges,
  readReturns,
  ReturnAct,
  returnEventBody,
  returnPayment,
  saveCard,
  savedEventBody,
  testCards,
  type StoredCharge,
  type StoredSetup,
} from "../../../shared/providers/payments/embedded-cards.ts";
import { readPayment } from "../../../shared/providers/payments/embedded.ts";
import type { Table } from "../../../shared/table/table.ts";
import { seller } from "../../../shared/wallet/catalogue.ts";
import { type Answer, jsonAnswer } from "../server/http-message.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import {
  type CardFault,
  type CardValues,
  cardExpired,
  cardForm,
  cardTable,
  cardValues,
  emptyCard,
  isPast,
} from "./card-form.ts";
import { postWebhook, type PaymentSettings } from "./checkout.ts";
import { isOwnForm, refuseForeignForm, wantsJson } from "./forms.ts";
import { htmlAnswer } from "./html.ts";
import { link, payerPage, webAddress } from "./payer-html.ts";

type Shown = { status?: number; card?: { values: CardValues; fault: CardFault }; leadTo?: string | undefined };

/** The page on which a payer saves a card. */
function setupPage({ id, card_id, success_url, cancel_url }: StoredSetup, shown: Shown = {}): Answer {
  const { status = 200, card: { values, fault } = { values: emptyCard, fault: undefined }, leadTo } = shown;
  const isSaved = card_id !== undefined;
  const form = isSaved
    ? `<h2>Your card is saved</h2>${link(`Continue to ${seller.name}`, webAddress(success_url))}`
    : `<h2>Card</h2>${cardForm(`/_local/card/${id}`, "Save card", values, fault)}`;
  return payerPage({
    status,
    title: "Save a card",
    leadTo,
    content: `<div>
        ${isSaved ? "" : link(`← Back to ${seller.name}`, webAddress(cancel_url))}
        <h1>Save a card for<strong>${seller.name}</strong></h1>
        <p>Nothing is charged now.</p>
      </div>
      <div class="card">${form}</div>
      <section class="wide card" aria-labelledby="testing"><h2 id="testing">For testing</h2>${cardTable("What it does", Object.values(testCards))}
        <p>Use any date in the future and any three digits.</p></section>`,
  });
}

async function orMissing(show: () => Promise<Answer>): Promise<Answer> {
  try {
    return await show();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
    return htmlAnswer(404, "Not found", `<p>${escapeHtml(notFound().message)}</p>`);
  }
}

/** Saves the card in the form, sends the product the webhook, and leads to the success page. */
async function saveFromForm(request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  if (!isOwnForm(request)) return refuseForeignForm();
  return orMissing(async () => {
    const setup = await getSetup(table, request.params["id"] ?? "");
    const values = cardValues(new URLSearchParams(request.body.toString()));
    const [, month, year] = /^\s*(\d{1,2})\s*\/\s*(?:20)?(\d\d)\s*$/.exec(values.expiry) ?? [];
    const entered = EnteredCard.safeParse({ number: values.number, exp_month: month, exp_year: `20${year ?? ""}` });
    const expiryFault: CardFault = { field: "expiry", message: "Write the month and the year, such as 12/34." };
    if (!entered.success) return setupPage(setup, { status: 422, card: { values, fault: expiryFault } });
    if (isPast(values.expiry, now())) return setupPage(setup, { status: 422, card: { values, fault: cardExpired } });
    const saved = await saveCard(table, setup.id, entered.data, now());
    const numberFault: CardFault = {
      field: "number",
      message: "Only test cards work on this page. Each page saves only one card.",
    };
    if (!saved) return setupPage(setup, { status: 422, card: { values, fault: numberFault } });
    const { status } = await postWebhook(savedEventBody(saved, now()), request, settings);
    if (wantsJson(request)) return jsonAnswer(200, { setup: saved, webhook: status });
    return setupPage(saved, { leadTo: webAddress(saved.success_url) });
  });
}

const buttonTexts: Record<ReturnAct, string> = {
  refund: "Refund",
  "refund-half": "Refund half",
  "fail-refund": "Let the last refund fail",
  dispute: "Dispute",
  win: "Decide for us",
  lose: "Decide for the payer",
};

async function chargeRow(table: Table, { id, amount, currency, status, created_at }: StoredCharge): Promise<string> {
  const { refunded, dispute } = await readReturns(table, id);
  const buttons = ReturnAct.options.map(
    (act) => `<button formaction="/_local/payments/${escapeHtml(id)}/${act}">${buttonTexts[act]}</button>`,
  );
  const facts = [
    created_at.slice(0, 19).replace("T", " "),
    `${money(amount)} ${currency}`,
    `${status}; refunded ${money(refunded)}; dispute: ${dispute}`,
  ].map((text) => `<td>${escapeHtml(text)}</td>`);
  const form = status === "succeeded" ? `<form method="post">${buttons.join("")}</form>` : "";
  return `<tr>${facts.join("")}<td>${form}</td></tr>`;
}

/** The page with the charges of saved cards. The buttons of the page refund or dispute a charge. */
async function chargesPage(table: Table, status = 200, notice = ""): Promise<Answer> {
  const charges = await listCharges(table);
  const rows = await Promise.all(charges.map((charge) => chargeRow(table, charge)));
  const head = "<tr><th>Time</th><th>Amount</th><th>State</th><th>At the bank</th></tr>";
  return htmlAnswer(
    status,
    "Charges of saved cards",
    `${notice === "" ? "" : `<p role="alert">${escapeHtml(notice)}</p>`}
      ${rows.length === 0 ? "<p>No card was charged yet.</p>" : `<table><thead>${head}</thead><tbody>${rows.join("")}</tbody></table>`}
      <p>Each button sends the product the webhook that Stripe would send. No money moves.</p>`,
  );
}

/** Refunds or disputes a payment. The id in the path is the id of a saved card's charge, or of a paid checkout. */
async function performReturn(act: ReturnAct, request: LocalRequest, settings: PaymentSettings): Promise<Answer> {
  const { table, now } = settings;
  if (!isOwnForm(request)) return refuseForeignForm();
  const payment = await readPayment(table, request.params["id"] ?? "");
  const returns = payment && (await returnPayment(table, payment, act));
  if (!payment || !returns) {
    const message = "The state of the payment does not allow this.";
    return wantsJson(request) ? jsonAnswer(409, { message }) : chargesPage(table, 409, message);
  }
  const { status } = await postWebhook(returnEventBody(payment, act, returns, now()), request, settings);
  return wantsJson(request) ? jsonAnswer(200, { payment, returns, webhook: status }) : chargesPage(table);
}

/**
 * The local pages for saved cards.
 * - `/_local/card/{id}` saves a test card, and sends the product the webhook.
 * - `/_local/payments` lists the charges of saved cards. The buttons of the page refund or dispute a charge.
 */
export function cardPaths(settings: PaymentSettings): LocalPath[] {
  const { table } = settings;
  return [
    {
      method: "GET",
      path: "/_local/card/{id}",
      handle: ({ params }) => orMissing(async () => setupPage(await getSetup(table, params["id"] ?? ""))),
    },
    { method: "POST", path: "/_local/card/{id}", handle: (request) => saveFromForm(request, settings) },
    { method: "GET", path: "/_local/payments", handle: () => chargesPage(table) },
    ...ReturnAct.options.map((act): LocalPath => ({
      method: "POST",
      path: `/_local/payments/{id}/${act}`,
      handle: (request) => performReturn(act, request, settings),
    })),
  ];
}
