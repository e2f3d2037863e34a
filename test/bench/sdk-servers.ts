import { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from "@a2a-js/sdk/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

/** The code that the Lambda of code mode would hold in addition with the SDKs' servers for MCP and A2A. */
export const servers = [
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
];
