import * as z from "zod";

import { route } from "../../functions/code/protocols/a2a/route.ts";
import { ToolArguments } from "../../functions/code/protocols/mcp/tools.ts";
import { type Route, defineRoute } from "../../shared/http/route.ts";

const Id = z.union([z.string(), z.int()]).meta({ description: "The message's id, echoed in the answer." });
const version = z.literal("2.0").meta({ description: "The JSON-RPC version." });

const A2aMessage = z
  .object({
    jsonrpc: version,
    id: Id,
    method: z.string().meta({ description: "`SendMessage` to run a program.", example: "SendMessage" }),
    params: z.looseObject({}).optional().meta({
      description:
        "For `SendMessage`: `message` with one part, either `data` with the members of a `CodeRequest`, or the program as `text`. Its `messageId` is the request's id, its `contextId` the session's, unless `data` names others.",
    }),
  })
  .meta({ id: "A2aMessage", description: "A request of the A2A protocol, version 1.0, in its JSON-RPC binding." });

const A2aAnswer = z
  .object({
    jsonrpc: version,
    id: Id.nullable().meta({ description: "The message's id; null when it had none that could be read." }),
    result: z.looseObject({}).optional().meta({
      description: "For `SendMessage` a `task`, completed or failed, whose one artifact is the `CodeResponse`.",
    }),
    error: z
      .object({
        code: z.int().meta({ description: "The error code of A2A or JSON-RPC." }),
        message: z.string().meta({ description: "What went wrong." }),
        data: z.array(z.looseObject({})).optional().meta({ description: "A `google.rpc.ErrorInfo` with the reason." }),
      })
      .optional()
      .meta({ description: "Why there is no result." }),
  })
  .meta({ id: "A2aAnswer", description: "An answer of the A2A protocol, version 1.0." });

/** The A2A endpoint in the document: it answers the specified envelope or the A2A protocol. */
export const a2aRoute: Route = { ...route, output: z.union([route.output, A2aAnswer]) };
export const a2aBody = z.union([route.body, A2aMessage]);

/** The header field of the A2A protocol. */
export const a2aHeaders = z.object({
  "A2A-Version": z.string().optional().meta({ description: "`1.0`, which a message of the protocol has to name." }),
});

/** The header fields of MCP, which repeat what is in the body. */
export const mcpHeaders = z.object({
  "MCP-Protocol-Version": z
    .string()
    .optional()
    .meta({ description: "The MCP revision; `2026-07-28` has to be the same as in `params._meta`." }),
  "Mcp-Method": z.string().optional().meta({ description: "The method again; revision 2026-07-28 demands it." }),
  "Mcp-Name": z.string().optional().meta({
    description:
      "For `tools/call` the tool's name again, which revision 2026-07-28 demands; what is not plain ASCII as `=?base64?…?=`.",
  }),
});

/** The MCP endpoint in the document. It speaks JSON-RPC, so it is not in the list of routes. */
export const mcpRoute = defineRoute({
  name: "code.mcp",
  method: "POST",
  path: "/v1/public/mcp",
  summary: "Speak MCP: run a program as a tool call",
  description:
    "The Model Context Protocol over Streamable HTTP, without sessions and streams. Revision 2026-07-28: `server/discover`, `tools/list`, `tools/call`, each with `_meta` and header fields that agree with the body. Revisions 2025-11-25, 2025-06-18 and 2025-03-26: `initialize`, `ping`, `tools/list`, `tools/call`. Notifications are answered with 202 and no body. The tool `service_execute` takes `code`, and `service_query` the same for programs that only read; both answer the envelope of the A2A endpoint, as text. Who issues tokens is told at `/.well-known/oauth-protected-resource/v1/public/mcp` (RFC 9728).",
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
                .meta({ description: "What the client can do." }),
            })
            .optional()
            .meta({ description: "Revision 2026-07-28 demands both of these members." }),
        })
        .optional()
        .meta({ description: "The method's parameters." }),
    })
    .meta({ id: "McpMessage", description: "One JSON-RPC message; batches are refused." }),
  output: z
    .object({
      jsonrpc: version,
      id: Id.nullable().meta({ description: "The message's id; null when it had none that could be read." }),
      result: z.looseObject({}).optional().meta({
        description:
          "What the method answers; for `tools/call` `content` (one text item) and `isError`. Revision 2026-07-28 adds `resultType` and `_meta`.",
      }),
      error: z
        .object({
          code: z.int().meta({ description: "The JSON-RPC error code." }),
          message: z.string().meta({ description: "What went wrong." }),
          data: z.looseObject({}).optional().meta({ description: "With -32022 the `supported` revisions." }),
        })
        .optional()
        .meta({ description: "Why there is no result." }),
    })
    .meta({ id: "McpAnswer", description: "One JSON-RPC answer." }),
  run: async () => {
    throw new Error("functions/code/handler.ts answers MCP");
  },
});
