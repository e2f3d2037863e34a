import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";

export const PublicUrlEnvironment = z.object({
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8080"),
});

/** The configured address of the API, without a slash at its end. Reads the environment when it is called. */
export const publicUrl = (): string => PublicUrlEnvironment.parse(process.env).PUBLIC_URL.replace(/\/$/, "");

/**
 * The address by which a request reached the API, without a slash at its end: PUBLIC_URL if it is set, or else the
 * domain name of the gateway. API Gateway accepts only its own names, so a caller cannot forge this name by the `Host`
 * header.
 */
export const addressOf = ({ requestContext }: Pick<APIGatewayProxyEventV2, "requestContext">): string =>
  process.env["PUBLIC_URL"] === undefined ? `https://${requestContext.domainName}` : publicUrl();

/** The name of the product on pages and for agents. The title of the OpenAPI document comes from the specification. */
export const productName = "Hosted Mail API";
