import { defineRoute } from "../../shared/route.ts";
import { CodeRequest, CodeResponse } from "./envelope.ts";
import { execute } from "./execute.ts";

/** The specified A2A envelope. It is declared like every route, but is no function that a program could call. */
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
  run: ({ body }, { principal, ...context }) =>
    execute(body.code, body.request_id, { ...context, authenticate: () => Promise.resolve(principal) }),
});
