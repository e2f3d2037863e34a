import type { APIGatewayProxyEventV2 } from "aws-lambda";

/**
 * The address of the caller, as the gateway saw it. If all requests come through a proxy of ours, and only then,
 * VIEWER_ADDRESS_HEADER names the header, in lower case, in which that proxy writes the caller's address.
 */
export function callerAddress({ headers, requestContext }: Pick<APIGatewayProxyEventV2, "headers" | "requestContext">) {
  const header = process.env["VIEWER_ADDRESS_HEADER"];
  return (header === undefined ? undefined : headers[header]) ?? requestContext.http.sourceIp;
}
