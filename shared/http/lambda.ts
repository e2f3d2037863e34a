import middy from "@middy/core";
import jsonBodyParser from "@middy/http-json-body-parser";
import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { authenticate } from "../auth/authenticate.ts";
import type { Principal } from "../auth/principal.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { addressOf } from "../core/product.ts";
import { clock } from "../core/time.ts";
import { charge, rateHeaders, rateStateOf, type Charge, type RateState } from "../rate-limits/limiter.ts";
import type { Usage } from "../table/connection.ts";
import { openTable } from "../table/table.ts";
import { callerAddress } from "./caller-address.ts";
import type { Door } from "./invoke.ts";
import { textOf } from "./json-body.ts";
import { metadataUrlOf } from "./protected-resource.ts";
import { bearerChallenge, failureResponse, requestIdOf, sealed, type Response } from "./response.ts";
import { runtime } from "./runtime.ts";

/** A request whose body is parsed already; undefined when there was none. */
export type Request = Omit<APIGatewayProxyEventV2, "body"> & { body?: unknown };
export type Handler = (event: APIGatewayProxyEventV2, context?: unknown) => Promise<Response>;

/** One request while it is served; middy carries it where Lambda's context would be. */
type Call = { startedAt: number; usage: Usage; door: Door; principal?: Principal; rate?: RateState };

type LambdaOptions = {
  /** Takes requests without a credential. */
  public?: boolean;
  /** Throws for a request that is refused whoever it is from. */
  guard?: (request: Pick<Request, "rawPath" | "headers">) => void;
  /** Throws for the text of a body that is JSON and yet refused. */
  checkBody?: (text: string) => void;
  /** The answer to a failure where a protocol has its own; undefined where it has none. */
  failure?: (failure: Problem | InvalidInput, request: Pick<Request, "rawPath">) => Response | undefined;
};

/**
 * A Lambda handler around `answer`, by the only middy chain: authentication unless it is public, body (size, media type, JSON),
 * the answer, whatever is thrown shaped for the caller, headers, and one log line.
 */
export function lambda(
  name: string,
  answer: (request: Request, door: Door) => Promise<Response>,
  options: LambdaOptions = {},
): Handler {
  const parseBody = jsonBodyParser().before;
  const chain = middy((request: Request, call: Call) => answer(request, call.door))
    .before(async (run) => {
      options.guard?.(run.event);
      if (!options.public) await run.context.door.authenticate();
      const { body, headers, isBase64Encoded } = run.event;
      if (typeof body !== "string" || body === "") return;
      try {
        const text = textOf({ body, headers, isBase64Encoded });
        Object.assign(run.event, { body: text, isBase64Encoded: false });
        parseBody?.(run as never);
        options.checkBody?.(text);
      } catch (error) {
        // What cannot be read counts like any other request.
        const principalId = run.context.principal?.id;
        if (principalId !== undefined) await run.context.door.charge({ principalId, class: "default", cost: 1 });
        throw error;
      }
    })
    .onError((run) => {
      const problem = meantForCaller(run.error, run.context);
      const hadCredential = (run.event.headers["authorization"] ?? "") !== "";
      const challenge = bearerChallenge({ hadCredential, metadataUrl: metadataUrlOf(run.event) });
      run.response =
        options.failure?.(problem, run.event) ?? failureResponse(problem, run.context.door.requestId, challenge);
    });
  return async (event) => {
    const call = openCall(name, event);
    const response = await chain({ ...event }, call);
    logRequest(event, call, response);
    const headers = { ...(call.rate ? rateHeaders(call.rate) : {}), ...response.headers };
    return sealed({ ...response, headers }, event);
  };
}

function openCall(name: string, event: APIGatewayProxyEventV2): Call {
  const { env, client, verifyUser, limiterMemory } = runtime();
  const requestId = requestIdOf(event);
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const table = openTable(client, env.TABLE_NAME, usage);
  const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: name }, env.LOG_FORMAT);
  const authenticated = async () =>
    (call.principal ??= await authenticate(event.headers["authorization"], verifyUser, table, clock()));
  const charged = async (what: Charge) => {
    try {
      const state = await charge(what, { table, memory: limiterMemory, log, now: clock });
      if (state) call.rate = state;
    } catch (error) {
      const refused = rateStateOf(error);
      if (refused) call.rate = refused;
      throw error;
    }
  };
  const { userAgent } = event.requestContext.http;
  const call: Call = {
    startedAt: performance.now(),
    usage,
    door: {
      requestId,
      table,
      log,
      now: clock,
      address: addressOf(event),
      authenticate: authenticated,
      charge: charged,
      readOnly: env.READ_ONLY,
      sourceIp: callerAddress(event),
      ...(userAgent ? { userAgent: userAgent.slice(0, 300) } : {}),
    },
  };
  return call;
}

/** Problems and invalid input as they are; anything else is logged and leaves as `internal`. */
function meantForCaller(error: unknown, { door }: Call): Problem | InvalidInput {
  if (error instanceof Problem || error instanceof InvalidInput) return error;
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (status === 415)
    return new Problem("unsupported_media_type", "Send the body as `Content-Type: application/json`.");
  if (status === 422) return forbiddenKey(error) ?? new Problem("malformed_json", "The body is not valid JSON.");
  door.log.error("unexpected error", {
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
}

/** The body parser refuses members that could reach an object's prototype. */
function forbiddenKey(error: unknown): InvalidInput | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  const key = typeof cause === "object" && cause !== null && "data" in cause ? cause.data : undefined;
  if (key !== "__proto__" && key !== "constructor") return undefined;
  return new InvalidInput([{ loc: ["body", key], msg: "This member is never allowed", type: "extra_forbidden" }]);
}

function logRequest(
  event: APIGatewayProxyEventV2,
  { startedAt, usage, door, principal }: Call,
  response: Response,
): void {
  const accountId = event.pathParameters?.["account_id"];
  door.log.info("request", {
    method: event.requestContext.http.method,
    // The template, not the path: a path can hold a mail address, or characters that would forge a line.
    path: event.routeKey.split(" ").at(-1),
    status: response.statusCode,
    duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
    ...(principal ? { principal_id: principal.id } : {}),
    ...(accountId === undefined ? {} : { account_id: accountId }),
    read_units: usage.readUnits,
    write_units: usage.writeUnits,
    table_calls: usage.calls,
  });
}
