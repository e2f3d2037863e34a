import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

import { onTestFinished } from "vitest";

type Recorded = { method: string; path: string; headers: IncomingMessage["headers"]; body: string };

/** What is answered instead of the truth: a status and Stripe's error object, bytes that are no JSON, nothing, or a hang-up. */
export type Trouble =
  | { status: number; error: Record<string, unknown>; headers?: Record<string, string> }
  | { status: number; text: string }
  | "silence"
  | "hang-up";

export type StripeService = { url: URL; recorded: Recorded[]; sessions: Map<string, Record<string, unknown>> };

/** A session as Stripe answers it, of the form-encoded request that made it. */
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

const missing = {
  status: 404,
  body: { error: { type: "invalid_request_error", code: "resource_missing", message: "No such checkout.session" } },
};

/** Answers as api.stripe.com does on the wire: a key makes one session, which can be read. */
function answerOf(service: StripeService, byKey: Map<string, string>, request: Recorded) {
  const [, id] = /^\/v1\/checkout\/sessions\/([^/]+)$/.exec(request.path) ?? [];
  if (id !== undefined) {
    const session = service.sessions.get(id);
    return session ? { status: 200, body: session } : missing;
  }
  const key = String(request.headers["idempotency-key"]);
  const made = byKey.get(key) ?? `cs_test_${service.sessions.size + 1}`;
  byKey.set(key, made);
  if (!service.sessions.has(made)) service.sessions.set(made, sessionOf(new URLSearchParams(request.body), made));
  return { status: 200, body: service.sessions.get(made) };
}

/** Stripe on 127.0.0.1 until the test is over; `troubles` come first, one for each request. */
export async function startStripe(...troubles: Trouble[]): Promise<StripeService> {
  const service: StripeService = { url: new URL("http://127.0.0.1"), recorded: [], sessions: new Map() };
  const byKey = new Map<string, string>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "", headers } = request;
    const recorded = { method, path, headers, body: await text(request) };
    service.recorded.push(recorded);
    const trouble = troubles.shift();
    if (trouble === "silence") return;
    if (trouble === "hang-up") return void request.socket.destroy();
    if (trouble && "text" in trouble) return void response.writeHead(trouble.status).end(trouble.text);
    const { status, body } = trouble
      ? { status: trouble.status, body: { error: trouble.error } }
      : answerOf(service, byKey, recorded);
    response.writeHead(status, { "content-type": "application/json", "request-id": "req_1", ...trouble?.headers });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  service.url = new URL(`http://127.0.0.1:${address.port}`);
  return service;
}
