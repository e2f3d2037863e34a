import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { lambdas } from "../../infra/entry-points.ts";
import { startGateway, type GatewayOptions } from "../../infra/local/server/gateway.ts";
import { newSource } from "./mail-routes.ts";
import { handlerOf } from "./request.ts";

const cameFrom = (event: APIGatewayProxyEventV2, sourceIp: string): APIGatewayProxyEventV2 => {
  const { requestContext } = event;
  return { ...event, requestContext: { ...requestContext, http: { ...requestContext.http, sourceIp } } };
};

/** Serves the product by a gateway, on the table of the tests. Returns its URL, and the function that stops it. */
export async function serveProduct(
  localPaths: GatewayOptions["localPaths"] = [],
): Promise<{ base: string; close: () => Promise<void> }> {
  // Callers without a credential are limited by their network. Each call of this function has a network of its own.
  const source = newSource();
  const functions = await Promise.all(
    lambdas.map(async (spec) => {
      const handler = await handlerOf(spec);
      return { ...spec, handler: (event: APIGatewayProxyEventV2) => handler(cameFrom(event, source)) };
    }),
  );
  const gateway = await startGateway({ functions, localPaths, port: 0 });
  return { base: `http://127.0.0.1:${gateway.port}`, close: gateway.stop };
}
