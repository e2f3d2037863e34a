import { randomUUID } from "node:crypto";

import { catalogue } from "../../functions/code/catalogue.ts";
import { check } from "../../functions/code/checker/checker.ts";
import { explain } from "../../functions/code/execution/diagnostics.ts";
import { execute } from "../../functions/code/execution/execute.ts";
import { runProgram } from "../../functions/code/execution/program.ts";
import { runSteps } from "../../functions/code/execution/scheduler.ts";
import { parseProgram } from "../../functions/code/interpreter/builtins.ts";
import { route as list } from "../../functions/workspaces/list.ts";
import { invoke } from "../../shared/http/invoke.ts";
import { inTurns, mapValues, median, timed, type Options, type Result } from "./harness.ts";
import { newScene } from "./scene.ts";

const reads = 20;

/** The median milliseconds of each variant. */
async function mediansOf<Name extends string>(rounds: number, variants: Record<Name, () => unknown>) {
  const timedRuns = mapValues(variants, (run) => () => timed(run));
  return mapValues(await inTurns(rounds, timedRuns), median);
}

/**
 * Measures the milliseconds that code mode adds to its calls, when it parses, checks and runs a program. Also measures
 * the same calls without code mode.
 */
export async function run({ quick }: Options): Promise<Result> {
  const rounds = quick ? 21 : 201;
  const id = randomUUID();
  const call = (_: unknown, index: number): string =>
    `x${index} = mailboxes.list(account_id="${id}", domain="example.com", page=${index + 1}, page_size=50)`;
  const long = Array.from({ length: 150 }, call).join("\n");
  const parsed = parseProgram(long);
  const { parse150, check150 } = await mediansOf(3 * rounds, {
    parse150: () => parseProgram(long),
    check150: () => check(parsed, { catalogue }),
  });
  const { accountId, context } = await newScene();
  const code = Array.from({ length: reads }, () => `workspaces.list(account_id="${accountId}")`).join("\n");
  const input = { params: { account_id: accountId }, query: {}, body: {} };
  const checked = check(parseProgram(code), { catalogue });
  const explainOne = (mistake: Parameters<typeof explain>[0][0]) => explain([mistake], code, catalogue);
  const nothing = { items: [], page: 1, page_size: 25, total: 0 };
  const withoutCalls = { perform: async () => nothing, concurrency: 8, writes: () => false };
  const { alone, ordered, together, read, overhead } = await mediansOf(rounds, {
    alone: async () => {
      for (let index = 0; index < reads; index++) await invoke(list, input, context);
    },
    ordered: () => runProgram(checked, context, { explain: explainOne, concurrency: 1 }),
    together: () => execute({ code, requestId: "bench" }, context),
    read: () => check(parseProgram(code), { catalogue }),
    overhead: () => runSteps(check(parseProgram(code), { catalogue }).steps, { ...withoutCalls, session: new Map() }),
  });
  return {
    figures: [
      { name: "parse 150 calls", value: parse150, unit: "ms", bar: 1 },
      { name: "parse 150 calls: source", value: Buffer.byteLength(long), unit: "bytes" },
      { name: "check 150 calls", value: check150, unit: "ms" },
      { name: "20 reads, each by itself", value: alone, unit: "ms" },
      { name: "20 reads in a program, one after another", value: ordered, unit: "ms" },
      { name: "20 reads in a program, at the same time", value: together, unit: "ms" },
      { name: "20 reads: parse and check", value: read, unit: "ms" },
      { name: "20 reads: parse, check and evaluate without the calls", value: overhead, unit: "ms" },
      {
        name: "20 reads: parse, check and evaluate, as a share of the reads",
        value: (100 * overhead) / alone,
        unit: "%",
        bar: 5,
      },
    ],
  };
}
