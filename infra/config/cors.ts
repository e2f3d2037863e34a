/** The CORS rules of the gateway, deployed and local, in the form of API Gateway's `CorsConfiguration`. */
export const corsRules = {
  allowMethods: ["GET", "POST", "PATCH", "DELETE"],
  allowHeaders: [
    "a2a-version",
    "authorization",
    "content-type",
    "idempotency-key",
    "if-match",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "x-request-id",
  ],
  exposeHeaders: [
    "allow",
    "content-disposition",
    "etag",
    "idempotency-replayed",
    "location",
    "ratelimit",
    "ratelimit-policy",
    "retry-after",
    "www-authenticate",
    "x-request-id",
  ],
  maxAgeSeconds: 3600,
} as const;
