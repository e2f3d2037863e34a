import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";

import { AddressRefused, urlFault, hostOf, resolvePublic, type Address, type Lookup } from "./address.ts";
import { readRetryAfterSeconds } from "./schedule.ts";

/** Why a delivery failed. `invalid_answer`: the connection was made, but no HTTP answer came over it. */
type SendFailure =
  | "blocked_address"
  | "dns_failed"
  | "connect_failed"
  | "tls_failed"
  | "timed_out"
  | "invalid_answer"
  | "redirected"
  | "unsuccessful_status";

/** The result of sending one delivery. Without an `error` the receiver accepted it. */
export type Sent = {
  statusCode?: number;
  error?: SendFailure;
  durationMs: number;
  /** How long the receiver asks us to wait, at most a day. */
  retryAfterSeconds?: number;
};

type Message = { url: string; headers: Record<string, string>; body: string };
type SendOptions = { allowLoopback: boolean; timeoutMs?: number; bodyTimeoutMs?: number; lookup?: Lookup };
type WebhookAnswer = Omit<Sent, "durationMs">;

const userAgent = "hosted-mail-webhooks/1";
const longestAnswerBytes = 16_384;

/** A resolver that always answers one address, so that the socket cannot resolve the host again. */
const pinned =
  ({ address, family }: Address): LookupFunction =>
  (_host, options, callback) => {
    if (options.all) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };

function answerFrom({ statusCode = 0, headers }: IncomingMessage): WebhookAnswer {
  if (statusCode >= 200 && statusCode < 300) return { statusCode };
  const retryAfterSeconds = readRetryAfterSeconds(headers["retry-after"], new Date());
  return {
    statusCode,
    error: statusCode >= 300 && statusCode < 400 ? "redirected" : "unsuccessful_status",
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/**
 * Watches the progress of a connection. If the connection ends without an answer, the returned function names the
 * failure.
 */
function watch(request: ClientRequest, secure: boolean, signal: AbortSignal): () => SendFailure {
  let failure: SendFailure = "connect_failed";
  request.on("socket", (socket) => {
    socket.on("connect", () => (failure = secure ? "tls_failed" : "invalid_answer"));
    socket.on("secureConnect", () => (failure = "invalid_answer"));
  });
  return () => (signal.aborted ? "timed_out" : failure);
}

type Exchange = { to: Address; bodyTimeoutMs: number; signal: AbortSignal };

/** Sends a request to a given address. Resolves when the answer ends or gets too long, or when the time is up. */
function exchange({ url, headers, body }: Message, { to, bodyTimeoutMs, signal }: Exchange): Promise<WebhookAnswer> {
  return new Promise((resolve) => {
    const target = new URL(url);
    const secure = target.protocol === "https:";
    const bytes = Buffer.from(body);
    const request = (secure ? requestHttps : requestHttp)(target, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": bytes.length,
        "user-agent": userAgent,
      },
      agent: false,
      lookup: pinned(to),
      maxHeaderSize: longestAnswerBytes,
      signal,
    });
    const failure = watch(request, secure, signal);
    let answer: WebhookAnswer | undefined;
    let bodyTimer: NodeJS.Timeout | undefined;
    const settle = (): void => {
      clearTimeout(bodyTimer);
      resolve(answer ?? { error: failure() });
      request.destroy();
    };
    request.on("error", settle).on("close", settle);
    request.on("response", (response) => {
      answer = answerFrom(response);
      bodyTimer = setTimeout(settle, bodyTimeoutMs);
      let readBytes = 0;
      response.on("data", (chunk: Buffer) => {
        readBytes += chunk.length;
        if (readBytes >= longestAnswerBytes) settle();
      });
      response.on("end", settle).on("error", settle);
    });
    request.end(bytes);
  });
}

const expiry = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });

async function post(message: Message, options: SendOptions, signal: AbortSignal): Promise<WebhookAnswer> {
  const { allowLoopback, lookup, bodyTimeoutMs = 1_000 } = options;
  if (urlFault(message.url, { allowLoopback })) return { error: "blocked_address" };
  try {
    const resolving = resolvePublic(hostOf(new URL(message.url)), { allowLoopback, lookup });
    const address = await Promise.race([resolving, expiry(signal)]);
    return address ? await exchange(message, { to: address, bodyTimeoutMs, signal }) : { error: "timed_out" };
  } catch (error) {
    if (error instanceof AddressRefused) return { error: error.reason };
    throw error;
  }
}

/**
 * Posts one webhook as JSON.
 * - The host is resolved once, to a public address (or to this machine, if `allowLoopback`).
 * - The connection is new, and its certificate is verified for the URL's host. Redirects are not followed.
 * - Everything ends after `timeoutMs`, by default ten seconds.
 * - Only the status of the answer is used. Up to 16 KiB of the body are read and dropped, for at most `bodyTimeoutMs`, by
 *   default a second.
 * - It never throws because of the receiver.
 */
export async function send(message: Message, options: SendOptions): Promise<Sent> {
  const startedMs = performance.now();
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), options.timeoutMs ?? 10_000);
  try {
    const answer = await post(message, options, deadline.signal);
    return { ...answer, durationMs: Math.round(performance.now() - startedMs) };
  } finally {
    clearTimeout(timer);
  }
}
