import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";

export const PublicUrlEnvironment = z.object({
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8080"),
});

/** The public address of the API for links, without a slash at its end. Reads the environment when it is called. */
export const publicUrl = (): string => PublicUrlEnvironment.parse(process.env).PUBLIC_URL.replace(/\/$/, "");

/**
 * The address by which a request reached the API, without a slash at its end: PUBLIC_URL, or the gateway's name if that
 * is not set. API Gateway accepts only its own names, so a caller cannot choose another one by the `Host` header.
 */
export const addressOf = ({ requestContext }: Pick<APIGatewayProxyEventV2, "requestContext">): string =>
  process.env["PUBLIC_URL"] === undefined ? `https://${requestContext.domainName}` : publicUrl();

/**
 * The name of the product for agents, people and pages. The OpenAPI document has the title of its specification
 * instead.
 */
export const productName = "Hosted Mail API";
