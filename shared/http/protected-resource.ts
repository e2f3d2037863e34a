import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Issuer } from "../core/environment.ts";
import { addressOf, productName } from "../core/product.ts";

/** The paths whose addresses clients are configured with: each is a resource of its own; the API as a whole is another. */
export const resourcePaths = ["/v1/public/mcp", "/v1/public/a2a"] as const;

/** Where the metadata is; that of a path of its own is under that path (RFC 9728 §3.1). */
export const metadataPath = "/.well-known/oauth-protected-resource";

type Event = Pick<APIGatewayProxyEventV2, "rawPath" | "requestContext">;

const resourcePathOf = (path: string): string => resourcePaths.find((known) => known === path) ?? "";

/** Where a client that has no token for a path learns who issues some (RFC 9728 §5.1). */
export const metadataUrlOf = (event: Event): string =>
  `${addressOf(event)}${metadataPath}${resourcePathOf(event.rawPath)}`;

/**
 * The metadata of the resource whose metadata path was asked for (RFC 9728 §2). There are no scopes: what a token may
 * do is decided by what its principal holds.
 */
export function protectedResource(event: Event, issuers: readonly Pick<Issuer, "issuer">[]): Record<string, unknown> {
  const address = addressOf(event);
  return {
    resource: `${address}${resourcePathOf(event.rawPath.slice(metadataPath.length))}`,
    authorization_servers: issuers.map(({ issuer }) => issuer),
    bearer_methods_supported: ["header"],
    resource_name: productName,
    resource_documentation: `${address}/docs/authentication`,
  };
}
