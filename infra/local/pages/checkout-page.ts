import { notFound, Problem } from "../../../shared/core/errors.ts";
import { escaped } from "../../../shared/core/text.ts";
import {
  type Act,
  eventBodyOf,
  getStored,
  settle,
  signatureOf,
  type StoredCheckout,
} from "../../../shared/providers/payments/embedded-checkout.ts";
import type { Table } from "../../../shared/table/table.ts";
import { type Answer, jsonAnswer } from "../server/answer.ts";
import type { LocalPath, LocalRequest } from "../server/respond.ts";
import { checkoutAnswer, type Delivery } from "./checkout-html.ts";
import { htmlAnswer } from "./html.ts";
import { isOwnForm } from "./own-form.ts";
import { wantsJson } from "./wants-json.ts";

export type CheckoutPageOptions = {
  table: Table;
  /** What the product's webhook endpoint verifies with. */
  webhookSecret: string;
  now?: () => Date;
};

/** Where Stripe would send the product its webhooks. */
const webhookPath = "/v1/public/webhooks/payments";

const deliveryTimeoutMs = 20_000;

/** Posts an event to the product as Stripe does, over HTTP; what went wrong on the way is a delivery too. */
async function deliver(checkout: StoredCheckout, port: number, secret: string, now: Date): Promise<Delivery> {
  const body = eventBodyOf(checkout);
  const eventId = String((JSON.parse(body) as { id: unknown }).id);
  try {
    const response = await fetch(`http://127.0.0.1:${port}${webhookPath}`, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "Stripe/1.0 (embedded)",
        "stripe-signature": signatureOf(body, secret, now),
      },
      body,
      signal: AbortSignal.timeout(deliveryTimeoutMs),
    });
    return { eventId, status: response.status, body: await response.text() };
  } catch (error) {
    return { eventId, status: 0, body: error instanceof Error ? error.message : String(error) };
  }
}

/** The page that `show` makes, or the 404 of a checkout that does not exist. */
async function orMissing(show: () => Promise<Answer>): Promise<Answer> {
  try {
    return await show();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "not_found") throw error;
    return htmlAnswer(404, "No such checkout", `<p>${escaped(notFound().message)}</p>`);
  }
}

type Place = Required<CheckoutPageOptions>;

async function perform(act: Act, count: number, request: LocalRequest, place: Place): Promise<Answer> {
  const { table, webhookSecret, now } = place;
  const id = request.params["id"] ?? "";
  if (!isOwnForm(request)) return jsonAnswer(403, { message: "Another site sent this form." });
  return orMissing(async () => {
    const settled = await settle(table, id, act, now());
    if (!settled) {
      const notice = "That cannot be done to this checkout any more.";
      if (wantsJson(request)) return jsonAnswer(409, { message: notice });
      return checkoutAnswer(await getStored(table, id), now(), [], 409, notice);
    }
    const deliveries = await Promise.all(
      Array.from({ length: count }, () => deliver(settled, request.port, webhookSecret, now())),
    );
    if (wantsJson(request)) return jsonAnswer(200, { checkout: settled, deliveries });
    return checkoutAnswer(settled, now(), deliveries);
  });
}

/**
 * `/_local/checkout/{id}`: the embedded payments' checkout, a page and its buttons, or JSON for who asks for it. Pay,
 * Decline and Close end it and send the product its webhook; Pay twice sends the one event twice at the same time; Pay
 * late sends that of a payment once the checkout is over, the same event again when it was sent before.
 */
export function checkoutPaths(options: CheckoutPageOptions): LocalPath[] {
  const place: Place = { now: () => new Date(), ...options };
  const { table, now } = place;
  const button = (path: Act | "pay-twice", act: Act, count = 1): LocalPath => ({
    method: "POST",
    path: `/_local/checkout/{id}/${path}`,
    handle: (request) => perform(act, count, request, place),
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
