import * as z from "zod";

import { route } from "../../functions/code/protocols/a2a/route.ts";
import type { Route } from "../../shared/http/route.ts";

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

/** The A2A endpoint as the document has it: the specified envelope, or the protocol. */
export const a2aRoute: Route = { ...route, output: z.union([route.output, A2aAnswer]) };
export const a2aBody = z.union([route.body, A2aMessage]);

/** The header field of the protocol. */
export const a2aHeaders = z.object({
  "A2A-Version": z.string().optional().meta({ description: "`1.0`, which a message of the protocol has to name." }),
});
