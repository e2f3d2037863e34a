import { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from "@a2a-js/sdk/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

/** What the code-mode Lambda would hold besides, if it spoke MCP and A2A by the servers of their SDKs. */
export const servers = [
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
];
