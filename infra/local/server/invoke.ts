import { randomUUID } from "node:crypto";

import type { APIGatewayProxyEventV2, Context } from "aws-lambda";

/** What a Lambda file exports as `handler`, as seen by whoever calls it. */
export type Handler = (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>;

/** The integration time-out of the gateway passed before the handler was done. */
export class TimedOut extends Error {}

const unsupported = (): never => {
  throw new Error("Return a promise: the callback style of Lambda is not supported");
};

function contextOf(name: string, timeoutMs: number): Context {
  const deadline = performance.now() + timeoutMs;
  return {
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

/** The handler's result. Rejects with what it threw, or with `TimedOut`; a handler out of time runs on unheard. */
export async function invoke(
  name: string,
  handler: Handler,
  event: APIGatewayProxyEventV2,
  timeoutMs: number,
): Promise<unknown> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimedOut(`${name} took longer than ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([handler(event, contextOf(name, timeoutMs)), late]);
  } finally {
    clearTimeout(timer);
  }
}
