import type { IncomingMessage } from "node:http";

import { requestsTo } from "../../entry-points.ts";
import { answerPreflight, isAllowedHost, isPreflight, withCors } from "./cors.ts";
import {
  BadTarget,
  type Match,
  type Target,
  type WireRequest,
  buildEvent,
  createMatcher,
  collectHeaders,
  parseTarget,
} from "./event.ts";
import { type Answer, toAnswer, jsonAnswer, readBody } from "./http-message.ts";
import { type Handler, TimedOut, invoke } from "./invoke.ts";

/** A Lambda function behind the gateway. infra/entry-points.ts describes triggers. */
export type LambdaFunction = { name: string; triggers: readonly string[]; handler: Handler };

/** A request to a local path. Header names are in lower case. `port` is the port that received the request. */
export type LocalRequest = {
  headers: ReadonlyMap<string, string>;
  params: Record<string, string>;
  query: URLSearchParams;
  body: Buffer;
  port: number;
};

/** A path that only the local product has. Pages of other origins cannot read its answers. */
export type LocalPath = {
  method: "GET" | "POST";
  path: `/_local/${string}`;
  handle: (request: LocalRequest) => Answer | Promise<Answer>;
};

export type ResponderOptions = {
  functions: readonly LambdaFunction[];
  localPaths?: readonly LocalPath[];
  /** The origins that CORS allows. `*` allows all origins. An empty list turns CORS off. */
  corsOrigins?: readonly string[];
  /**
   * The host names of this machine besides its loopback names. `any` allows every host name, for a server without
   * secrets.
   */
  allowedHosts?: readonly string[] | "any";
  integrationTimeoutMs?: number;
  /** Called with the errors and time-outs of handlers. Callers of the API get only a status. */
  onError?: (functionName: string, error: unknown) => void;
};

/** Answers a request. Rejects only if the sender disconnected. */
export type Responder = (request: IncomingMessage) => Promise<Answer>;

const message = (status: number, text: string): Answer => jsonAnswer(status, { message: text });

const wrongHost = (host: string | undefined): Answer =>
  message(
    421,
    `This server answers only requests to the names of this machine. "${host ?? ""}" is not one of these names. ` +
      "Use localhost, or start the server with that name in ALLOWED_HOSTS.",
  );

async function wireRequest(
  request: IncomingMessage,
  headers: ReadonlyMap<string, string>,
): Promise<WireRequest | null> {
  const { method = "GET", httpVersion, socket } = request;
  const { remoteAddress: sourceIp = "127.0.0.1", localPort: port = 80 } = socket;
  // A request with neither of these headers has no body (RFC 9112 §6.3).
  const hasBody = headers.has("content-length") || headers.has("transfer-encoding");
  const body = hasBody ? await readBody(request) : Buffer.alloc(0);
  return body && { method, httpVersion, headers, sourceIp, port, body };
}

const localHeaders = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

async function answerLocally(
  found: Match<LocalPath> | undefined,
  request: Omit<LocalRequest, "params">,
  onError: ResponderOptions["onError"],
): Promise<Answer> {
  if (!found) return message(404, "Not Found");
  try {
    const answer = await found.target.handle({ ...request, params: found.pathParameters });
    return { ...answer, headers: { ...answer.headers, ...localHeaders } };
  } catch (error) {
    onError?.(found.routeKey, error);
    return message(500, "Internal Server Error");
  }
}

/**
 * Creates a function that answers like API Gateway: with the result of a Lambda function, or with the gateway's own
 * error if no function matches, or if the function fails.
 */
function createRunner(
  options: ResponderOptions,
): (wire: WireRequest, target: Target, closed: AbortSignal) => Promise<Answer> {
  const { functions, integrationTimeoutMs = 29_000, onError } = options;
  const match = createMatcher(
    functions.flatMap((target) => requestsTo(target.triggers).map((trigger) => ({ trigger, target }))),
  );
  return async (wire, target, closed) => {
    const found = match(wire.method, target.path);
    if (!found) return message(404, "Not Found");
    const event = buildEvent(wire, target, found, new Date());
    const { name, handler } = found.target;
    const identified = (answer: Answer): Answer => ({
      ...answer,
      by: name,
      headers: { ...answer.headers, "apigw-requestid": event.requestContext.requestId },
    });
    try {
      return identified(toAnswer(await invoke(name, handler, event, integrationTimeoutMs, closed)));
    } catch (error) {
      onError?.(name, error);
      const late = error instanceof TimedOut;
      return identified(late ? message(503, "Service Unavailable") : message(500, "Internal Server Error"));
    }
  };
}

/** Creates the gateway's request handler, without a server. Throws for triggers that API Gateway rejects. */
export function createResponder(options: ResponderOptions): Responder {
  const { localPaths = [], corsOrigins = [], allowedHosts = [] } = options;
  const run = createRunner(options);
  const matchLocal = createMatcher(
    localPaths.map((target) => ({ trigger: `${target.method} ${target.path}`, target })),
  );

  return async (request) => {
    const closed = new AbortController();
    const close = (): void => closed.abort();
    request.socket.once("close", close);
    try {
      const headers = collectHeaders(request.rawHeaders);
      const target = parseTarget(request.url ?? "");
      const host = target.authority ?? headers.get("host");
      if (allowedHosts !== "any" && !isAllowedHost(host, allowedHosts)) return wrongHost(host);
      const isLocal = target.path.startsWith("/_local/");
      if (!isLocal && corsOrigins.length > 0 && isPreflight(request.method, headers)) {
        return answerPreflight(corsOrigins, headers);
      }
      const wire = await wireRequest(request, headers);
      if (!wire) return withCors(corsOrigins, headers, message(413, "Request Entity Too Large"));
      if (isLocal) {
        const local = { headers, query: new URLSearchParams(target.query), body: wire.body, port: wire.port };
        return await answerLocally(matchLocal(wire.method, target.path), local, options.onError);
      }
      return withCors(corsOrigins, headers, await run(wire, target, closed.signal));
    } catch (error) {
      if (error instanceof BadTarget) return message(400, "Bad Request");
      throw error;
    } finally {
      request.socket.off("close", close);
    }
  };
}
