import * as z from "zod";

import { route } from "../../functions/code/protocols/a2a/route.ts";
import { ToolArguments } from "../../functions/code/protocols/mcp/tools.ts";
import { type Route, defineRoute } from "../../shared/http/route.ts";

const Id = z.union([z.string(), z.int()]).meta({ description: "The message's id. The answer has the same id." });
const version = z.literal("2.0").meta({ description: "The JSON-RPC version." });

const A2aMessage = z
  .object({
    jsonrpc: version,
    id: Id,
    method: z.string().meta({ description: "`SendMessage` to run a program.", example: "SendMessage" }),
    params: z.looseObject({}).optional().meta({
      description:
        "For `SendMessage`: a `message` with one part. The part is either `data` with the members of a `CodeRequest`, or the program as `text`. `messageId` is the request's id, and `contextId` is the session's id. A `request_id` in `data` takes precedence. A `session_id` in `data` must not differ from `contextId`.",
    }),
  })
  .meta({ id: "A2aMessage", description: "A request of the A2A protocol, version 1.0, in its JSON-RPC binding." });

const A2aAnswer = z
  .object({
    jsonrpc: version,
    id: Id.nullable().meta({ description: "The message's id; null when the message has no readable id." }),
    result: z.looseObject({}).optional().meta({
      description: "For `SendMessage`: a completed or failed `task`. The task's only artifact is the `CodeResponse`.",
    }),
    error: z
      .object({
        code: z.int().meta({ description: "The error code of A2A or JSON-RPC." }),
        message: z.string().meta({ description: "The error in words." }),
        data: z.array(z.looseObject({})).optional().meta({ description: "A `google.rpc.ErrorInfo` with the reason." }),
      })
      .optional()
      .meta({ description: "Why there is no result." }),
  })
  .meta({ id: "A2aAnswer", description: "An answer of the A2A protocol, version 1.0." });

/**
 * The A2A endpoint in the document. The body of a request is a `CodeRequest`, or a message of the A2A protocol.
 */
export const a2aRoute: Route = { ...route, output: z.union([route.output, A2aAnswer]) };
export const a2aBody = z.union([route.body, A2aMessage]);

/** The request header of the A2A protocol. */
export const a2aHeaders = z.object({
  "A2A-Version": z.string().optional().meta({
    description:
      "The version of the A2A protocol, `1.0`. A message of the protocol must name the version in this header or in the query parameter `A2A-Version`.",
  }),
});

/** The request headers of MCP. These headers repeat members of the body. */
export const mcpHeaders = z.object({
  "MCP-Protocol-Version": z.string().optional().meta({
    description: "The MCP revision. For revision `2026-07-28`, `params._meta` must also contain the revision.",
  }),
  "Mcp-Method": z
    .string()
    .optional()
    .meta({ description: "The same `method` as in the body. Revision 2026-07-28 requires this header." }),
  "Mcp-Name": z.string().optional().meta({
    description:
      "For `tools/call`: the same tool name as in the body. Revision 2026-07-28 requires this header. Write a name with other characters than ASCII as `=?base64?…?=`.",
  }),
});

/**
 * The MCP endpoint in the document. The endpoint is not in the list of routes, because its bodies are JSON-RPC
 * messages.
 */
export const mcpRoute = defineRoute({
  name: "code.mcp",
  http: { method: "POST", path: "/v1/public/mcp" },
  summary: "Run a program as an MCP tool call",
  description:
    "Speaks the Model Context Protocol over Streamable HTTP, without sessions. The answer is one JSON object. If the client sends a progress token and accepts `text/event-stream`, the answer to a program that takes more than three seconds can be a stream of server-sent events. Revision 2026-07-28 has `server/discover`, `tools/list` and `tools/call`. Its messages need `_meta`, and headers that agree with the body. Revisions 2025-11-25, 2025-06-18 and 2025-03-26 have `initialize`, `ping`, `tools/list` and `tools/call`. A notification gets 202 without a body. `notifications/cancelled` ends a running program before one of its next calls. The tool `service_execute` runs the program in `code`. The tool `service_query` does the same for programs that only read. Both answer with the envelope of the A2A endpoint, as text. The document at `/.well-known/oauth-protected-resource/v1/public/mcp` names the token issuers (RFC 9728).",
  capability: null,
  open: "Each call of the program is authorized by its own function.",
  access: "write",
  body: z
    .object({
      jsonrpc: version,
      id: Id.optional(),
      method: z.string().meta({ description: "`tools/call` to run a program." }),
      params: z
        .looseObject({
          name: z.string().optional().meta({ description: "For `tools/call`: `service_execute` or `service_query`." }),
          arguments: ToolArguments.partial()
            .optional()
            .meta({ description: "For `tools/call`: the tool's arguments." }),
          _meta: z
            .looseObject({
              "io.modelcontextprotocol/protocolVersion": z
                .string()
                .optional()
                .meta({ description: "The revision of this request." }),
              "io.modelcontextprotocol/clientCapabilities": z
                .looseObject({})
                .optional()
                .meta({ description: "The client's capabilities." }),
            })
            .optional()
            .meta({ description: "Data about the request. Revision 2026-07-28 requires both members." }),
        })
        .optional()
        .meta({ description: "The method's parameters." }),
    })
    .meta({ id: "McpMessage", description: "One JSON-RPC message. Batches are refused." }),
  output: z
    .object({
      jsonrpc: version,
      id: Id.nullable().meta({ description: "The message's id; null when the message has no readable id." }),
      result: z.looseObject({}).optional().meta({
        description:
          "The result of the method. For `tools/call`: `content` (one text item) and `isError`. Revision 2026-07-28 adds `resultType` and `_meta`.",
      }),
      error: z
        .object({
          code: z.int().meta({ description: "The JSON-RPC error code." }),
          message: z.string().meta({ description: "The error in words." }),
          data: z.looseObject({}).optional().meta({ description: "For the code -32022: the `supported` revisions." }),
        })
        .optional()
        .meta({ description: "Why there is no result." }),
    })
    .meta({ id: "McpAnswer", description: "One JSON-RPC answer." }),
  run: async () => {
    throw new Error("functions/code/handler.ts answers MCP");
  },
});
