import * as z from "zod";

import { ToolArguments } from "../../functions/code/protocols/mcp/tools.ts";
import { defineRoute } from "../../shared/http/route.ts";

const Id = z.union([z.string(), z.int()]).meta({ description: "The message's id, echoed in the answer." });
const version = z.literal("2.0").meta({ description: "The JSON-RPC version." });

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

/** What the document says of the MCP endpoint, which speaks JSON-RPC and so is no route of the list. */
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
