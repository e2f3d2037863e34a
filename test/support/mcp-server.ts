import { onTestFinished } from "vitest";

import { lambdas } from "../../infra/entry-points.ts";
import { startGateway } from "../../infra/local/server/gateway.ts";
import type { Handler } from "../../infra/local/server/invoke.ts";
import { handlerOf } from "./request.ts";

const served = new Set(["code", "protected_resource", "fallback"]);

/**
 * Starts the MCP endpoint behind the local gateway on a free port, until the test ends. Returns its URL. With
 * `tokenFor`, requests without a credential get a token on the way. The conformance suite sends no credentials, and
 * sends more requests at once than the limit of one user allows.
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
