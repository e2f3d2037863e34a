import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/sdk/client/auth.js";
import { expect, onTestFinished, test, vi } from "vitest";

import { handler } from "../../functions/protected-resource.ts";
import { metadataUrlOf, protectedResource } from "../../shared/http/protected-resource.ts";
import { startMcp } from "../support/mcp-server.ts";
import { answerOf, eventOf, request } from "../support/request.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

test.each([
  ["the whole API", ""],
  ["the MCP endpoint", "/v1/public/mcp"],
  ["the A2A endpoint", "/v1/public/a2a"],
])("anybody can read the metadata of %s, which name the resource and its authorization server", async (_, path) => {
  const { status, headers, body } = await request("GET", `${wellKnown}${path}`);
  expect(status).toBe(200);
  expect(headers).toMatchObject({ "content-type": "application/json", "cache-control": "public, max-age=300" });
  expect(body).toEqual({
    resource: `https://127.0.0.1${path}`,
    authorization_servers: ["http://127.0.0.1/_local/issuer"],
    bearer_methods_supported: ["header"],
    resource_name: "Hosted Mail API",
    resource_documentation: "https://127.0.0.1/docs/authentication",
  });
});

test("no other path has metadata of its own", async () => {
  for (const path of ["/", "/v1/public", "/v1/public/me", "/v1/public/mcp/", "/v1/public/MCP"]) {
    expect(await request("GET", `${wellKnown}${path}`)).toMatchObject({ status: 404 });
  }
  expect(await request("POST", wellKnown)).toMatchObject({ status: 405, headers: { allow: "GET, HEAD, OPTIONS" } });
});

test("every issuer is named, in the order of the configuration", () => {
  const issuers = [{ issuer: "https://id.example" }, { issuer: "https://partner.example/tenant" }];
  expect(protectedResource(eventOf("GET", wellKnown), issuers)["authorization_servers"]).toEqual([
    "https://id.example",
    "https://partner.example/tenant",
  ]);
});

test("if the API has a configured address, the metadata name this address, whatever host the request has", () => {
  vi.stubEnv("PUBLIC_URL", "https://api.example.com/");
  onTestFinished(() => void vi.unstubAllEnvs());
  const event = eventOf("GET", `${wellKnown}/v1/public/mcp`);
  expect(protectedResource(event, [])).toMatchObject({
    resource: "https://api.example.com/v1/public/mcp",
    resource_documentation: "https://api.example.com/docs/authentication",
  });
  expect(metadataUrlOf(eventOf("GET", "/v1/public/me"))).toBe(`https://api.example.com${wellKnown}`);
});

test("a Host or X-Forwarded-Host that a caller makes up changes no address", async () => {
  const headers = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example" };
  const event = eventOf("GET", `${wellKnown}/v1/public/mcp`, { headers });
  const { status, text } = answerOf(await handler({ ...event, headers: { ...event.headers, host: "evil.example" } }));
  expect(status).toBe(200);
  expect(text).not.toContain("evil.example");
});

test.each([
  ["/v1/public/mcp", "/v1/public/mcp"],
  ["/v1/public/a2a", "/v1/public/a2a"],
  ["/v1/public/accounts/x/workspaces", ""],
])("the 401 of POST %s leads to the metadata of its resource", async (path, resource) => {
  const { headers } = await request("POST", path, { body: {} });
  const metadata = `resource_metadata="https://127.0.0.1${wellKnown}${resource}"`;
  expect(headers["www-authenticate"]).toBe(`Bearer realm="public-api", ${metadata}`);
});

test("the official client finds the metadata by the challenge, and by the address alone", async () => {
  const url = await startMcp();
  const refused = await fetch(url, { method: "POST" });
  expect(refused.status).toBe(401);
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
  expect(resourceMetadataUrl?.pathname).toBe(`${wellKnown}/v1/public/mcp`);
  const metadata = await discoverOAuthProtectedResourceMetadata(url);
  expect(metadata.resource).toBe("https://localhost/v1/public/mcp");
  expect(metadata.authorization_servers).toHaveLength(1);
});
