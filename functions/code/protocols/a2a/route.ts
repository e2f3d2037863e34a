import { fromStrings, parseInput } from "../../../../shared/http/input.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import type { Request } from "../../../../shared/http/lambda.ts";
import { type Response, json } from "../../../../shared/http/response.ts";
import { defineRoute } from "../../../../shared/http/route.ts";
import { CodeRequest, CodeResponse } from "../../envelope.ts";
import { executeIdempotently } from "../../execution/replay.ts";
import { budgetMs, callLimit, outsideBudgetMs, scoreLimit, sourceLimitBytes } from "../../language/limits.ts";
import { a2aRpc, isRpc } from "./rpc.ts";

/**
 * The REST route that runs a program, without the A2A protocol. This declaration only serves to read the input and to
 * describe the route in the OpenAPI document. Programs cannot call the route.
 */
export const route = defineRoute({
  name: "code.a2a",
  http: { method: "POST", path: "/v1/public/a2a" },
  summary: "Run a program of function calls",
  description: `Runs one or more calls of the API's functions, each authorized like its REST route. The whole program is checked before the first call runs. A program that fails is also answered with 200. The envelope then has the error, and the results of the calls that completed. A program has at most ${sourceLimitBytes / 1024} KiB, ${callLimit} calls and a \`complexity_score\` of ${scoreLimit}. The score is charged to your rate limit. No call begins after ${budgetMs / 1000} seconds, and no call of an outside service after ${outsideBudgetMs / 1000} seconds.\n\nIf you send the same program again with the same \`request_id\` and \`session_id\` within an hour, you get the same envelope (\`Idempotency-Replayed: true\`), and no call is made again. A program that failed or was cut off runs again, and makes the remaining calls. An envelope that has a secret or a short-lived address, or that is too large, is not stored, so its program runs again too. A cancelled program does not run again.\n\nA body that is JSON-RPC 2.0 is a message of the A2A protocol, version 1.0: see \`/.well-known/agent-card.json\`.`,
  capability: null,
  open: "Each call of the program is authorized by its own function.",
  access: "write",
  body: CodeRequest,
  output: CodeResponse,
  run: async () => {
    throw new Error("functions/code/handler.ts answers programs");
  },
});

/** Answers a program with an envelope, and a JSON-RPC body by the A2A protocol. */
export async function a2a(request: Request, context: InvocationContext): Promise<Response> {
  const { body, headers, rawQueryString } = request;
  if (isRpc(request)) return a2aRpc(request, context);
  const query = fromStrings(route.query, new URLSearchParams(rawQueryString));
  const sent = { "idempotency-key": headers["idempotency-key"] };
  const input = parseInput(route, { params: {}, query, isFromUrl: true, body, headers: sent });
  const { code, request_id: requestId, session_id: sessionId, dry_run: dryRun } = CodeRequest.parse(input.body);
  const { envelope, replayed } = await executeIdempotently(
    { code, requestId, sessionId, dryRun },
    context,
    input.headers.idempotencyKey,
  );
  return json(200, envelope, replayed ? { "idempotency-replayed": "true" } : {});
}
