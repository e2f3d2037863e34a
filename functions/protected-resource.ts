import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { json, sealed, type Response } from "../shared/answer.ts";
import { readEnvironment, type Issuer } from "../shared/env.ts";
import { protectedResource } from "../shared/protected-resource.ts";

let issuers: readonly Issuer[] | undefined;

/** Says who issues the tokens of this API (RFC 9728), to anybody. */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  issuers ??= readEnvironment(process.env).ISSUERS;
  const headers = { "cache-control": "public, max-age=300" };
  return sealed(json(200, protectedResource(event, issuers), headers), event);
};
