import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";

export const PublicUrlEnvironment = z.object({
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).default("http://127.0.0.1:8080"),
});

/** Where people reach the API, for the links to it, without a slash at its end. Needs the environment when it is called. */
export const publicUrl = (): string => PublicUrlEnvironment.parse(process.env).PUBLIC_URL.replace(/\/$/, "");

/**
 * The address by which a request came, without a slash at its end: PUBLIC_URL, and without one the gateway's name. API
 * Gateway takes requests only for names that are its own: nobody gets another one in here by a `Host` of theirs.
 */
export const addressOf = ({ requestContext }: Pick<APIGatewayProxyEventV2, "requestContext">): string =>
  process.env["PUBLIC_URL"] === undefined ? `https://${requestContext.domainName}` : publicUrl();

/** What agents, people and pages call the product; the OpenAPI document has the title that its specification gives it. */
export const productName = "Hosted Mail API";
