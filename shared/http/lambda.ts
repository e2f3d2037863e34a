import middy from "@middy/core";
import jsonBodyParser from "@middy/http-json-body-parser";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import type * as z from "zod";

import { askEmailOf, authenticate, expectedPrincipal } from "../auth/authenticate.ts";
import type { Principal } from "../auth/principal.ts";
import { rememberTokens, userVerifier } from "../auth/user-token.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { addressOf } from "../core/product.ts";
import { clock } from "../core/time.ts";
import { type RateState, charge, isRefused, rateHeaders, rateStateOf } from "../rate-limits/limiter.ts";
import { reserve } from "../rate-limits/reservation.ts";
import { batchReads } from "../table/batch-reads.ts";
import type { Usage } from "../table/client.ts";
import { openTable } from "../table/table.ts";
import type { InvocationContext } from "./invoke.ts";
import { bodyText, forbiddenMember } from "./json-body.ts";
import { metadataUrlOf } from "./protected-resource.ts";
import {
  type Response,
  bearerChallenge,
  failureResponse,
  logUnexpected,
  requestIdOf,
  withStandardHeaders,
} from "./response.ts";
import { primeRuntime, runtime } from "./runtime.ts";

/**
 * The IP address of the caller, as the gateway saw it. VIEWER_ADDRESS_HEADER can name a header (in lower case): if a
 * request has this header, the address is the value of the header. Set VIEWER_ADDRESS_HEADER only if all requests come
 * through a proxy of ours that writes this header. Otherwise callers could forge their address.
 */
export function callerAddress({ headers, requestContext }: Pick<APIGatewayProxyEventV2, "headers" | "requestContext">) {
  const header = process.env["VIEWER_ADDRESS_HEADER"];
  return (header === undefined ? undefined : headers[header]) ?? requestContext.http.sourceIp;
}

/** A request with its parsed body. `body` is undefined if the request has no body. */
export type Request = Omit<APIGatewayProxyEventV2, "body"> & { body?: unknown };
export type Handler = (event: APIGatewayProxyEventV2, context?: unknown) => Promise<Response>;

/** A handler. The Lambda calls `prime` at the end of its init, so that the first request is faster. */
export type LambdaHandler = Handler & { prime: () => Promise<void> };

/** The state of one request. Middy carries it in place of Lambda's context. */
type Call = {
  startedMs: number;
  usage: Usage;
  invocation: InvocationContext;
  principal?: Principal;
  rate?: RateState | undefined;
};

type LambdaOptions = {
  /** Accepts requests without a credential. */
  public?: boolean;
  /**
   * Whether `answer` calls `invoke`. If the caller can be guessed, `invoke` authenticates, and this handler does not.
   */
  invokes?: boolean;
  /** The schemas that `prime` prepares. */
  schemas?: readonly z.ZodType[];
  /** Throws if a request must be refused before authentication. */
  guard?: (request: Pick<Request, "rawPath" | "headers">) => void;
  /** Throws if a JSON body must be refused. */
  checkBody?: (text: string) => void;
  /** Charges a request whose body cannot be read. The default charges 1 in the class `default`. Throws 401 and 429. */
  chargeUnread?: (request: Request, invocation: InvocationContext) => Promise<void>;
  /**
   * Makes the answer to a failure in another protocol. If undefined is returned, `failureResponse` makes the answer.
   */
  failure?: (failure: Problem | InvalidInput, request: Pick<Request, "rawPath" | "headers">) => Response | undefined;
};

/**
 * Wraps `answer` in a Lambda handler, the only middy chain of the product. The handler:
 * - authenticates the caller, unless the handler is public or leaves this to `invoke` (`invokes`);
 * - parses the body (size, media type, JSON) and calls `answer`;
 * - turns the errors of these steps into answers;
 * - sets the headers and writes one log line.
 */
export function lambda(
  name: string,
  answer: (request: Request, invocation: InvocationContext) => Promise<Response>,
  options: LambdaOptions = {},
): LambdaHandler {
  const requireCredential = async ({ invocation }: Call) => options.public || (await invocation.authenticate());
  const parseBody = bodyParser(options);
  const { chargeUnread = chargeCaller } = options;
  const chain = middy(async (request: Request, call: Call) => {
    try {
      return await answer(request, call.invocation);
    } catch (error) {
      // Unless the handler is public, a caller without a valid credential gets a 401 instead of the error.
      await requireCredential(call);
      throw error;
    }
  })
    .before(async ({ event, context }) => {
      options.guard?.(event);
      const { invocation } = context;
      // If the caller can be guessed (`invocation.expected`), `invoke` authenticates the caller and reads the caller's
      // permissions in one round trip. So the caller is not authenticated here.
      if (!(options.invokes && invocation.expected)) await requireCredential(context);
      try {
        parseBody(event);
      } catch (error) {
        // A request with an unreadable body is charged too, so that such requests cannot be sent for free.
        await chargeUnread(event, invocation);
        throw error;
      }
    })
    .onError((run) => {
      const problem = callerFailure(run.error, run.context);
      const hadCredential = (run.event.headers["authorization"] ?? "") !== "";
      const challenge = bearerChallenge({ hadCredential, metadataUrl: metadataUrlOf(run.event) });
      run.response =
        options.failure?.(problem, run.event) ?? failureResponse(problem, run.context.invocation.requestId, challenge);
    });
  const handle = async (event: APIGatewayProxyEventV2, context?: unknown): Promise<Response> => {
    const call = openCall(name, event, signalIn(context));
    const response = await chain({ ...event }, call);
    logRequest(event, call, response);
    const headers = { ...(call.rate ? rateHeaders(call.rate) : {}), ...response.headers };
    return withStandardHeaders({ ...response, headers }, event);
  };
  // A request needs two connections: it charges the rate limit while it reads.
  return Object.assign(handle, { prime: () => primeRuntime(2, () => prepareRequest(options.schemas ?? [])) });
}

async function chargeCaller(_: Request, { authenticate, charge }: InvocationContext): Promise<void> {
  const { id: principalId } = await authenticate();
  await charge({ principalId, class: "default", cost: 1 });
}

/**
 * Prepares the first request: begins to load the issuers' keys, and prepares schemas. Does not wait for an issuer,
 * because the issuer can be down.
 */
function prepareRequest(schemas: readonly z.ZodType[]): void {
  tokensOfUsers()
    .loadKeys()
    .catch(() => undefined);
  // zod prepares a schema at its first use.
  for (const schema of schemas) schema.safeParse({});
}

let userTokens: { verify: (token: string) => Promise<Principal>; loadKeys: () => Promise<void> } | undefined;

/** Verifies users' tokens, and loads the keys of the tokens' issuers. Made at the first call, once for each process. */
function tokensOfUsers() {
  if (!userTokens) {
    const verifier = userVerifier(runtime().env.ISSUERS);
    userTokens = { verify: rememberTokens(verifier), loadKeys: verifier.loadKeys };
  }
  return userTokens;
}

/** Creates a function that replaces the text of a request's body by its parsed JSON. Removes an empty body. */
function bodyParser({ checkBody }: LambdaOptions): (request: Request) => void {
  const { before: parse } = jsonBodyParser();
  return (request) => {
    const { body, headers, isBase64Encoded } = request;
    if (body === "") delete request.body;
    if (typeof body !== "string" || body === "") return;
    const text = bodyText({ body, headers, isBase64Encoded });
    Object.assign(request, { body: text, isBase64Encoded: false });
    try {
      parse?.({ event: request } as never);
    } catch (error) {
      throw (isForbiddenKey(error) && forbiddenMember(text)) || error;
    }
    checkBody?.(text);
  };
}

const signalIn = (context: unknown): AbortSignal | undefined => {
  const { signal } = (context ?? {}) as { signal?: unknown };
  return signal instanceof AbortSignal ? signal : undefined;
};

function openCall(name: string, event: APIGatewayProxyEventV2, signal: AbortSignal | undefined): Call {
  const { env, client, limiterMemory, seen } = runtime();
  const requestId = requestIdOf(event);
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const table = batchReads(openTable(client, env.TABLE_NAME, usage), seen);
  const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: name }, env.LOG_FORMAT);
  let authenticating: Promise<Principal> | undefined;
  const authenticateOnce = async () => {
    authenticating ??= authenticate(event.headers["authorization"], tokensOfUsers().verify, table, clock());
    return (call.principal = await authenticating);
  };
  const limiter = { table, memory: limiterMemory, log, now: clock };
  /** Keeps the state of the rate limit, also after a 429, for the headers of the answer. */
  const noteRate = async <T>(limited: Promise<T>, stateOf: (value: T) => RateState | undefined): Promise<T> => {
    try {
      const value = await limited;
      call.rate = stateOf(value) ?? call.rate;
      return value;
    } catch (error) {
      call.rate = rateStateOf(error) ?? call.rate;
      throw error;
    }
  };
  const { userAgent } = event.requestContext.http;
  const call: Call = {
    startedMs: performance.now(),
    usage,
    invocation: {
      requestId,
      table,
      log,
      now: clock,
      address: addressOf(event),
      authenticate: authenticateOnce,
      askEmail: askEmailOf(event.headers["authorization"], env.ISSUERS),
      expected: expectedPrincipal(event.headers["authorization"], seen, clock()),
      isRefused: (request) => isRefused(request, limiter),
      charge: async (request) => void (await noteRate(charge(request, limiter), (state) => state)),
      reserve: async (request) => {
        const { isOwn, settle } = await noteRate(reserve(request, limiter), ({ state }) => state);
        return { isOwn, settle: async (used) => void (await noteRate(settle(used), (state) => state)) };
      },
      readOnly: env.READ_ONLY,
      sourceIp: callerAddress(event),
      signal,
      ...(userAgent ? { userAgent: userAgent.slice(0, 300).toWellFormed() } : {}),
    },
  };
  return call;
}

/**
 * The failure that the caller sees. Problems and invalid input stay as they are, errors of the body parser are
 * translated, and any other error is logged and becomes `internal`.
 */
function callerFailure(error: unknown, { invocation }: Call): Problem | InvalidInput {
  if (error instanceof Problem || error instanceof InvalidInput) return error;
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (status === 415)
    return new Problem("unsupported_media_type", "Send the body as `Content-Type: application/json`.");
  if (status === 422) return new Problem("malformed_json", "The body is not valid JSON.");
  return logUnexpected(error, invocation.log);
}

/**
 * Whether the body parser refused a member that could change an object's prototype. The parser refuses such a member
 * only in valid JSON, and `forbiddenMember` needs valid JSON.
 */
function isForbiddenKey(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const key = typeof cause === "object" && cause !== null && "data" in cause ? cause.data : undefined;
  return key === "__proto__" || key === "constructor";
}

function logRequest(
  event: APIGatewayProxyEventV2,
  { startedMs, usage, invocation, principal }: Call,
  response: Response,
): void {
  const accountId = event.pathParameters?.["account_id"];
  invocation.log.info("request", {
    method: event.requestContext.http.method,
    // The path template, because the path itself can contain a mail address, or characters that forge a log line.
    path: event.routeKey.split(" ").at(-1),
    status: response.statusCode,
    duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
    ...(principal ? { principal_id: principal.id } : {}),
    ...(accountId === undefined ? {} : { account_id: accountId }),
    read_units: usage.readUnits,
    write_units: usage.writeUnits,
    table_calls: usage.calls,
  });
}
