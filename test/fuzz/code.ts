import { catalogue } from "../../functions/code/catalogue.ts";
import { check } from "../../functions/code/checker/checker.ts";
import { runSteps } from "../../functions/code/execution/scheduler.ts";
import { parseProgram } from "../../functions/code/interpreter/builtins.ts";
import { LanguageError } from "../../functions/code/language/errors.ts";
import { anyProgram, names, randomOf } from "../support/code-programs.ts";

export type Found = { programs: number; parsed: number; ran: number; slowestMs: number; slowest: string };

/** The answers of the calls, in turn: an object that is a page and a resource in one, null, and an empty page. */
const answer = (index: number): unknown =>
  [
    { id: "a", name: "b", email: "c", status: "active", tags: ["x"], items: [{ id: "d" }, { id: "e" }] },
    null,
    { items: [], total: 0 },
  ][index % 3];

const session = new Map(names.map((name, index) => [name, answer(index)]));
const surroundings = {
  catalogue,
  session: new Map(names.map((name) => [name, { type: {} }])),
};

/**
 * Parses and checks `count` generated programs, and runs the programs without a mistake. Their calls get fixed answers.
 * Throws if an error is not an error of the language, and names the program. A slow program is measured up to three
 * times again, because the machine may have been slow.
 */
export async function fuzzCode(count: number, seed: number): Promise<Found> {
  const random = randomOf(seed);
  const found: Found = { programs: count, parsed: 0, ran: 0, slowestMs: 0, slowest: "" };
  for (let index = 0; index < count; index += 1) {
    const program = anyProgram(random);
    try {
      let ms = timeOf(program, found);
      for (let again = 0; again < 3 && ms > found.slowestMs; again += 1) ms = Math.min(ms, timeOf(program));
      if (ms > found.slowestMs) Object.assign(found, { slowestMs: ms, slowest: program.slice(0, 200) });
      await run(program, found);
    } catch (error) {
      throw new Error(`program ${index} of seed ${seed}: ${JSON.stringify(program)}`, { cause: error });
    }
  }
  return found;
}

/**
 * The milliseconds of processor time for parsing and checking a program. Counts the program in `found` if it parses.
 */
function timeOf(program: string, found?: Found): number {
  // Processor time does not include the other programs of the machine.
  const before = process.threadCpuUsage();
  try {
    const parsed = parseProgram(program);
    if (found) found.parsed += 1;
    check(parsed, surroundings);
  } catch (error) {
    if (!(error instanceof LanguageError)) throw error;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

async function run(program: string, found: Found): Promise<void> {
  let checked: ReturnType<typeof check>;
  try {
    checked = check(parseProgram(program), surroundings);
  } catch {
    return;
  }
  if (checked.diagnostics.length > 0) return;
  found.ran += 1;
  let calls = 0;
  const { failure } = await runSteps(checked.steps, {
    perform: async () => {
      calls += 1;
      return answer(calls);
    },
    concurrency: 8,
    writes: (call) => catalogue.get(call.name)?.route.access === "write",
    session,
  });
  if (failure && !(failure.error instanceof LanguageError)) throw failure.error;
}
