import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { readEnvironment, type Issuer } from "../shared/core/environment.ts";
import { protectedResource } from "../shared/http/protected-resource.ts";
import { json, withStandardHeaders, type Response } from "../shared/http/response.ts";

let issuers: readonly Issuer[] | undefined;

/** Answers the protected resource metadata (RFC 9728), which names the issuers of tokens. Needs no token. */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  issuers ??= readEnvironment(process.env).ISSUERS;
  const headers = { "cache-control": "public, max-age=300" };
  return withStandardHeaders(json(200, protectedResource(event, issuers), headers), event);
};
