import { claimKey, type Claim } from "../../shared/idempotency.ts";
import { fromStrings, parseInput } from "../../shared/input.ts";
import type { Door } from "../../shared/invoke.ts";
import type { Request } from "../../shared/lambda.ts";
import { defineRoute } from "../../shared/route.ts";
import { catalogue } from "./catalogue.ts";
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

/** What was answered, and whether an earlier request with the same key had been answered so. */
export type Answered = { envelope: CodeResponse; replayed: boolean };

/** A larger envelope is not kept: an item of the table holds 400 KB. */
const keptBytes = 300_000;

/**
 * Runs the program of an A2A envelope. With an `Idempotency-Key` the same program answers the same envelope again,
 * and another one is a 422. Each POST of the program has a key of its own, made from that one and its place: a
 * program that was cut off before its envelope was stored does none of them twice when it is sent again.
 */
export async function a2a({ body, headers, rawQueryString }: Request, door: Door): Promise<Answered> {
  const query = fromStrings(route.query, new URLSearchParams(rawQueryString));
  const sent = { "idempotency-key": headers["idempotency-key"] };
  const input = parseInput(route, { params: {}, query, body, headers: sent });
  const { code, request_id } = CodeRequest.parse(input.body);
  const key = input.headers.idempotencyKey;
  if (key === undefined)
    return { envelope: CodeResponse.parse(await execute(code, request_id, door)), replayed: false };
  const principal = await door.authenticate();
  const claimed = await claimKey(door.table, { principal, route, key, input, now: door.now() });
  if ("replay" in claimed) {
    await door.charge({ principalId: principal.id, class: "default", cost: 1 });
    return { envelope: CodeResponse.parse(claimed.replay), replayed: true };
  }
  try {
    const envelope = CodeResponse.parse(await execute(code, request_id, door, key));
    await keep(envelope, claimed, door);
    return { envelope, replayed: false };
  } catch (error) {
    await claimed.release();
    throw error;
  }
}

/** Stores the envelope of a program that completed, but for one with a secret in it; lets go of the key of any other. */
async function keep(envelope: CodeResponse, claim: Claim, { table, log }: Door): Promise<void> {
  const isLarge = Buffer.byteLength(JSON.stringify(envelope)) > keptBytes;
  if (envelope.status === "failed" || isLarge) return claim.release();
  const isSecret = envelope.responses.some(({ function: name }) => catalogue.get(name)?.route.secret);
  try {
    await table.attempt(claim.settleWith(isSecret ? undefined : envelope));
  } catch (error) {
    log.error("envelope not kept", { error: String(error) });
  }
}
