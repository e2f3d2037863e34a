import { startLoopback, type Answer, type Fault, type Recorded } from "./loopback.ts";

/**
 * A fault of Stripe: an answer with a status and an error object, an answer that is not JSON, no answer, or a closed
 * connection.
 */
export type Trouble =
  | { status: number; error: Record<string, unknown>; headers?: Record<string, string> }
  | { status: number; text: string }
  | "silence"
  | "hang-up";

type Sessions = Map<string, Record<string, unknown>>;
export type StripeService = { url: URL; recorded: Recorded[]; sessions: Sessions };

const document = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": "application/json", "request-id": "req_1", ...headers },
  body: JSON.stringify(body),
});

/** The session that Stripe makes from a form-encoded request. */
function sessionOf(form: URLSearchParams, id: string): Record<string, unknown> {
  const metadata = [...form].flatMap(([name, value]): [string, string][] => {
    const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value]];
  });
  return {
    id,
    object: "checkout.session",
    amount_total: Number(form.get("line_items[0][price_data][unit_amount]")),
    client_reference_id: form.get("client_reference_id"),
    currency: form.get("line_items[0][price_data][currency]"),
    expires_at: Number(form.get("expires_at")),
    livemode: false,
    metadata: Object.fromEntries(metadata),
    mode: form.get("mode"),
    payment_status: "unpaid",
    status: "open",
    url: `https://checkout.stripe.com/c/pay/${id}`,
  };
}

const missing = document(404, {
  error: { type: "invalid_request_error", code: "resource_missing", message: "No such checkout.session" },
});

const notOpen = document(400, {
  error: { type: "invalid_request_error", message: "Only Checkout Sessions with a status in [open] can be expired." },
});

/** Answers as api.stripe.com does. An idempotency key makes one session, which can be read and ended. */
function answerOf(sessions: Sessions, byKey: Map<string, string>, request: Recorded): Answer {
  const [, id, act] = /^\/v1\/checkout\/sessions\/([^/]+)(\/expire)?$/.exec(request.path) ?? [];
  if (id !== undefined) {
    const session = sessions.get(id);
    if (session && act !== undefined) {
      if (session["status"] !== "open") return notOpen;
      Object.assign(session, { status: "expired", url: null });
    }
    return session ? document(200, session) : missing;
  }
  const key = String(request.headers["idempotency-key"]);
  const made = byKey.get(key) ?? `cs_test_${sessions.size + 1}`;
  byKey.set(key, made);
  if (!sessions.has(made)) sessions.set(made, sessionOf(new URLSearchParams(request.body), made));
  return document(200, sessions.get(made));
}

function faultOf(trouble: Trouble | undefined): Fault | undefined {
  if (typeof trouble !== "object") return trouble;
  if ("text" in trouble) return { status: trouble.status, body: trouble.text };
  return document(trouble.status, { error: trouble.error }, trouble.headers);
}

/** Stripe on 127.0.0.1 until the test ends. `troubles` has the faults of the first requests, one for each request. */
export async function startStripe(troubles: Trouble[] = []): Promise<StripeService> {
  const sessions: Sessions = new Map();
  const byKey = new Map<string, string>();
  const { url, recorded } = await startLoopback(
    (request) => answerOf(sessions, byKey, request),
    () => faultOf(troubles.shift()),
  );
  return { url: new URL(url), recorded, sessions };
}
