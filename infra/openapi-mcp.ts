import * as z from "zod";

import { defineRoute } from "../shared/route.ts";

const Id = z.union([z.string(), z.int()]).meta({ description: "The message's id, echoed in the answer." });
const version = z.literal("2.0").meta({ description: "The JSON-RPC version." });

/** What the document says of the MCP endpoint, which speaks JSON-RPC and so is no route of the list. */
export const mcpRoute = defineRoute({
  name: "code.mcp",
  method: "POST",
  path: "/v1/public/mcp",
  summary: "Speak MCP: run a program as a tool call",
  description:
    "The Model Context Protocol over Streamable HTTP, revisions 2025-11-25, 2025-06-18 and 2025-03-26, without sessions: `initialize`, `ping`, `tools/list`, `tools/call`; notifications are answered with 202 and no body. The tool `service_execute` takes `code` and answers the same envelope as the A2A endpoint, as text. A message that is not JSON-RPC is answered with 400.",
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
          name: z.string().optional().meta({ description: "For `tools/call`: `service_execute`." }),
          arguments: z
            .looseObject({ code: z.string().optional().meta({ description: "The program." }) })
            .optional()
            .meta({ description: "For `tools/call`: the tool's arguments." }),
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
        description: "What the method answers; for `tools/call` `content` (one text item) and `isError`.",
      }),
      error: z
        .object({
          code: z.int().meta({ description: "The JSON-RPC error code." }),
          message: z.string().meta({ description: "What went wrong." }),
        })
        .optional()
        .meta({ description: "Why there is no result." }),
    })
    .meta({ id: "McpAnswer", description: "One JSON-RPC answer." }),
  run: async () => {
    throw new Error("functions/code/handler.ts answers MCP");
  },
});
