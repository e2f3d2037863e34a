import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";

import { AddressRefused, urlFault, urlHost, resolvePublic, type Address, type Lookup } from "./address.ts";
import { readRetryAfterSeconds } from "./schedule.ts";

/** Why a delivery failed. `invalid_answer` means that the receiver accepted the connection but sent no HTTP answer. */
type SendFailure =
  | "blocked_address"
  | "dns_failed"
  | "connect_failed"
  | "tls_failed"
  | "timed_out"
  | "invalid_answer"
  | "redirected"
  | "unsuccessful_status";

/** The result of sending one delivery. Without an `error` the receiver accepted the delivery. */
export type Sent = {
  statusCode?: number;
  error?: SendFailure;
  durationMs: number;
  /** The wait that the receiver asks for, at most a day. */
  retryAfterSeconds?: number;
};

type Message = { url: string; headers: Record<string, string>; body: string };
type SendOptions = { allowLoopback: boolean; timeoutMs?: number; bodyTimeoutMs?: number; lookup?: Lookup };
type WebhookAnswer = Omit<Sent, "durationMs">;

const userAgent = "hosted-mail-webhooks/1";
const longestAnswerBytes = 16_384;

/** A resolver that always returns the same address, so that the socket cannot resolve the host again. */
const pinnedLookup =
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
function trackFailure(request: ClientRequest, secure: boolean, signal: AbortSignal): () => SendFailure {
  let failure: SendFailure = "connect_failed";
  request.on("socket", (socket) => {
    socket.on("connect", () => (failure = secure ? "tls_failed" : "invalid_answer"));
    socket.on("secureConnect", () => (failure = "invalid_answer"));
  });
  return () => (signal.aborted ? "timed_out" : failure);
}

type PostTarget = { address: Address; bodyTimeoutMs: number; signal: AbortSignal };

/**
 * Posts a message to an address. Resolves when the answer ends or gets too long, when the connection fails, or when the
 * time is up. Never rejects.
 */
function postTo(
  { url, headers, body }: Message,
  { address, bodyTimeoutMs, signal }: PostTarget,
): Promise<WebhookAnswer> {
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
      lookup: pinnedLookup(address),
      maxHeaderSize: longestAnswerBytes,
      signal,
    });
    const failure = trackFailure(request, secure, signal);
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

/** Resolves when the signal aborts. */
const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });

async function post(message: Message, options: SendOptions, signal: AbortSignal): Promise<WebhookAnswer> {
  const { allowLoopback, lookup, bodyTimeoutMs = 1_000 } = options;
  if (urlFault(message.url, { allowLoopback })) return { error: "blocked_address" };
  try {
    const resolving = resolvePublic(urlHost(new URL(message.url)), { allowLoopback, lookup });
    const address = await Promise.race([resolving, aborted(signal)]);
    return address ? await postTo(message, { address, bodyTimeoutMs, signal }) : { error: "timed_out" };
  } catch (error) {
    if (error instanceof AddressRefused) return { error: error.reason };
    throw error;
  }
}

/**
 * Posts one webhook as JSON.
 * - The host is resolved once, to a public address (or to this machine, if `allowLoopback`).
 * - The connection is new, and its certificate is verified for the URL's host. Redirects are not followed.
 * - The post ends after `timeoutMs` at the latest, by default ten seconds.
 * - Only the status and `Retry-After` of the answer are used. Up to 16 KiB of the body are read and dropped, for at
 *   most `bodyTimeoutMs`, by default a second.
 * - A failure of the receiver does not throw; it is the `error` of the result.
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
