import { fromStrings, parseInput } from "../../shared/input.ts";
import type { Door } from "../../shared/invoke.ts";
import type { Request } from "../../shared/lambda.ts";
import { defineRoute } from "../../shared/route.ts";
import { CodeRequest, CodeResponse } from "./envelope.ts";
import { execute } from "./execute.ts";

/** The specified A2A envelope: declared like a route for its input and the document, but no function a program could call. */
export const route = defineRoute({
  name: "code.a2a",
  method: "POST",
  path: "/v1/public/a2a",
  summary: "Run a program of function calls",
  description:
    "Runs one or more calls of the API's functions, each authorized like its REST route. The whole program is checked before the first call runs. A program that fails is answered with 200 as well: the envelope says so, and keeps the results of the calls that completed.",
  capability: null,
  open: "Each call of the program is authorized by its own function.",
  access: "write",
  body: CodeRequest,
  output: CodeResponse,
  run: async () => {
    throw new Error("functions/code/handler.ts answers programs");
  },
});

/**
 * Runs the program of an A2A envelope. With an `Idempotency-Key` each POST of the program has a key of its
 * own, made from that one and its place: a program that is sent again does nothing twice.
 */
export async function a2a({ body, headers, rawQueryString }: Request, door: Door): Promise<CodeResponse> {
  const query = fromStrings(route.query, new URLSearchParams(rawQueryString));
  const key = headers["idempotency-key"];
  const input = parseInput(route, { params: {}, query, body, headers: { "idempotency-key": key } });
  const { code, request_id } = CodeRequest.parse(input.body);
  return CodeResponse.parse(await execute(code, request_id, door, input.headers.idempotencyKey));
}
