import type { APIGatewayProxyEventV2 } from "aws-lambda";

import type { Issuer } from "../core/environment.ts";
import { addressOf, productName } from "../core/product.ts";

/** The paths that have OAuth metadata of their own. MCP and A2A clients are configured with one of these paths. */
export const resourcePaths = ["/v1/public/mcp", "/v1/public/a2a"] as const;

/** The path of the API's metadata. For the metadata of a resource path, append the resource path. */
export const metadataPath = "/.well-known/oauth-protected-resource";

type Event = Pick<APIGatewayProxyEventV2, "rawPath" | "requestContext">;

const resourcePathOf = (path: string): string => resourcePaths.find((resource) => resource === path) ?? "";

/** The address of the metadata for a request, by which a client without a token finds the issuers (RFC 9728 §5.1). */
export const metadataUrlOf = (event: Event): string =>
  `${addressOf(event)}${metadataPath}${resourcePathOf(event.rawPath)}`;

/**
 * The metadata of the resource that the path of a metadata request names (RFC 9728 §2, §3.1). The metadata has no
 * scopes, because the permissions come from the grants of the principal and not from the token.
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
