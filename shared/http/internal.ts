import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { createLog, type Log, type LogFields } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { batchReads } from "../table/batch-reads.ts";
import type { Usage } from "../table/client.ts";
import { openTable, type Table } from "../table/table.ts";
import { requestIdOf, withStandardHeaders, type Response } from "./response.ts";
import { primeRuntime, runtime } from "./runtime.ts";

export type InternalContext = { table: Table; log: Log; now: () => Date };

type InternalRoute = {
  /** The name of the route in the log. */
  name: string;
  /** Makes the answer, and the fields for its log line. */
  answer: (
    event: APIGatewayProxyEventV2,
    context: InternalContext,
  ) => Promise<{ response: Response; fields: LogFields }>;
  /** Makes the answer to an error that `answer` threw. */
  failure: (error: unknown, requestId: string, log: Log, event: APIGatewayProxyEventV2) => Response;
  /** Loads data for the first request, at the end of the Lambda's init. */
  prepare?: () => unknown;
  /** Completes the headers of every answer; by default as for the public API. */
  complete?: (response: Response, event: APIGatewayProxyEventV2) => Response;
};

/**
 * Makes the Lambda handler of a path that is not part of the public API. The handler does not authenticate the caller;
 * `answer` does, if the path needs a credential.
 */
export function internalHandler({
  name,
  answer,
  failure,
  prepare = () => undefined,
  complete = withStandardHeaders,
}: InternalRoute) {
  const handle = async (event: APIGatewayProxyEventV2): Promise<Response> => {
    const startedMs = performance.now();
    const { env, client, seen } = runtime();
    const requestId = requestIdOf(event);
    const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: name }, env.LOG_FORMAT);
    const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    let fields: LogFields = {};
    let response: Response;
    try {
      ({ response, fields } = await answer(event, {
        table: batchReads(openTable(client, env.TABLE_NAME, usage), seen),
        log,
        now: clock,
      }));
    } catch (error) {
      response = failure(error, requestId, log, event);
    }
    log.info("request", {
      method: event.requestContext.http.method,
      path: event.routeKey.split(" ").at(-1),
      status: response.statusCode,
      duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
      ...fields,
      read_units: usage.readUnits,
      write_units: usage.writeUnits,
      table_calls: usage.calls,
    });
    return complete(response, event);
  };
  // Unlike a route, these requests do not charge a rate limit and read at the same time, so one connection is enough.
  return Object.assign(handle, { prime: () => primeRuntime(1, prepare) });
}
