import { randomUUID } from "node:crypto";

import type { APIGatewayProxyEventV2, Context } from "aws-lambda";

/**
 * Lambda's context, with an additional signal. The signal aborts when the sender closes the connection. Lambda has no
 * such signal.
 */
type LocalContext = Context & { signal: AbortSignal };

/** The type of the `handler` that a Lambda file exports. */
export type Handler = (event: APIGatewayProxyEventV2, context: LocalContext) => Promise<unknown>;

/** Thrown if a handler exceeds the gateway's integration time-out. */
export class TimedOut extends Error {}

const unsupported = (): never => {
  throw new Error("Return a promise. The callback style of Lambda is not supported");
};

function lambdaContext(name: string, timeoutMs: number, signal: AbortSignal): LocalContext {
  const deadline = performance.now() + timeoutMs;
  return {
    signal,
    awsRequestId: randomUUID(),
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${name}`,
    memoryLimitInMB: "512",
    logGroupName: "local",
    logStreamName: "local",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, Math.round(deadline - performance.now())),
    done: unsupported,
    fail: unsupported,
    succeed: unsupported,
  };
}

/**
 * Calls a handler and returns its result. Rejects with the handler's error, or with `TimedOut` after `timeoutMs`. A
 * late handler keeps running, but its result is ignored.
 */
export async function invoke(
  name: string,
  handler: Handler,
  event: APIGatewayProxyEventV2,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimedOut(`${name} took longer than ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([handler(event, lambdaContext(name, timeoutMs, signal)), late]);
  } finally {
    clearTimeout(timer);
  }
}
