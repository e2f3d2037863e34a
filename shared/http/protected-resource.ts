import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Issuer } from "../core/environment.ts";
import { addressOf, productName } from "../core/product.ts";

/** The paths that clients are configured with. Each is a separate resource, and so is the API as a whole. */
export const resourcePaths = ["/v1/public/mcp", "/v1/public/a2a"] as const;

/** The path of the metadata. The metadata of a path with its own resource is below it (RFC 9728 §3.1). */
export const metadataPath = "/.well-known/oauth-protected-resource";

type Event = Pick<APIGatewayProxyEventV2, "rawPath" | "requestContext">;

const resourcePathOf = (path: string): string => resourcePaths.find((known) => known === path) ?? "";

/** The address at which a client without a token for a path learns who issues tokens (RFC 9728 §5.1). */
export const metadataUrlOf = (event: Event): string =>
  `${addressOf(event)}${metadataPath}${resourcePathOf(event.rawPath)}`;

/**
 * The metadata of a resource, by the path of the metadata (RFC 9728 §2). It has no scopes, because the grants of the
 * principal decide what a token may do.
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
