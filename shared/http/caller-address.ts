import type { APIGatewayProxyEventV2 } from "aws-lambda";

/**
 * Who a request is from: the address that the gateway saw. Where all requests come by a proxy of ours, and only then,
 * VIEWER_ADDRESS_HEADER names the header, in lower case, in which that writes whom it saw.
 */
export function callerAddress({ headers, requestContext }: Pick<APIGatewayProxyEventV2, "headers" | "requestContext">) {
  const header = process.env["VIEWER_ADDRESS_HEADER"];
  return (header === undefined ? undefined : headers[header]) ?? requestContext.http.sourceIp;
}
