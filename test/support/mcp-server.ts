import { onTestFinished } from "vitest";

import { lambdas } from "../../infra/entry-points.ts";
import { startGateway } from "../../infra/local/server/gateway.ts";
import type { Handler } from "../../infra/local/server/invoke.ts";
import { handlerOf } from "./request.ts";

const served = new Set(["code", "protected_resource", "fallback"]);

/**
 * The MCP endpoint behind the local gateway on a free port, until the test is over; answers its address. With
 * `tokenFor`, requests that bring no credential are given a token on the way: the conformance suite sends none, and
 * more of them at once than one user may.
 */
export async function startMcp(tokenFor?: () => string): Promise<string> {
  const functions = await Promise.all(
    lambdas
      .filter(({ name }) => served.has(name))
      .map(async (lambda) => {
        const handler: Handler = await handlerOf(lambda);
        return { ...lambda, handler: tokenFor === undefined ? handler : withToken(handler, tokenFor) };
      }),
  );
  const gateway = await startGateway({ port: 0, functions });
  onTestFinished(gateway.stop);
  return `http://localhost:${gateway.port}/v1/public/mcp`;
}

const withToken =
  (handler: Handler, tokenFor: () => string): Handler =>
  (event, context) =>
    handler({ ...event, headers: { authorization: `Bearer ${tokenFor()}`, ...event.headers } }, context);
