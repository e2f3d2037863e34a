import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { handler } from "../../functions/web.ts";

type Asked = { method?: string; body?: string; headers?: Record<string, string> };
export type WebAnswer = { status: number; headers: Record<string, string>; body: string };

/** Sends a request to the function for customers' domains, in the form of its gateway. */
export async function visit(host: string, target = "/", { method = "GET", body, headers = {} }: Asked = {}) {
  const url = new URL(target, "http://localhost");
  const event = {
    headers: { host, ...headers },
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    queryStringParameters: Object.fromEntries(url.searchParams),
    routeKey: "$default",
    requestContext: { requestId: "r", http: { method, sourceIp: "127.0.0.1" } },
    isBase64Encoded: false,
    ...(body === undefined ? {} : { body }),
  } as unknown as APIGatewayProxyEventV2;
  const answer = await handler(event);
  const { statusCode = 0, headers: given = {}, body: text = "" } = answer;
  return { status: statusCode, headers: given as Record<string, string>, body: text } satisfies WebAnswer;
}
