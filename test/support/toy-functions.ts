import { AsyncLocalStorage } from "node:async_hooks";

import * as z from "zod";

import { catalogueOf, type Catalogue } from "../../functions/code/catalogue/function.ts";
import { check } from "../../functions/code/checker/checker.ts";
import { explain } from "../../functions/code/execution/diagnostics.ts";
import { runProgram, type RunProgramOptions, type ProgramRun } from "../../functions/code/execution/program.ts";
import { parseProgram } from "../../functions/code/interpreter/builtins.ts";
import { keptType } from "../../functions/code/interpreter/types.ts";
import { Problem } from "../../shared/core/errors.ts";
import { createLog } from "../../shared/core/log.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import type { InvocationContext } from "../../shared/http/invoke.ts";
import { defineRoute, type Route } from "../../shared/http/route.ts";
import { testTable } from "./world.ts";

const text = (description: string) => z.string().meta({ description });
const Note = z.object({
  id: text("The id."),
  text: text("The text."),
  number: z.number().meta({ description: "A number." }),
  tags: z.array(z.string()).meta({ description: "Tags." }),
  parent: z
    .object({ id: text("Its id.") })
    .nullable()
    .meta({ description: "Another." }),
});

/** The state of the toy functions in one run. `calls` are the calls so far, each with its name and input. */
export type Toy = {
  calls: string[];
  /** The number of writes so far. It is the `number` of the notes in the answers. */
  version?: number;
  before?: (name: string, input: Record<string, unknown>) => Promise<void>;
};

const noteOf = (id: string, number = id.length) => ({
  id,
  text: `text of ${id}`,
  number,
  tags: id.split("/"),
  parent: id.includes("/") ? { id: "root" } : null,
});

/** The toy of the running program. */
const toys = new AsyncLocalStorage<Toy>();
const toyOf = (): Toy => toys.getStore() ?? { calls: [] };

/**
 * Functions without a table, for tests of how programs run. The toy records the calls in the order in which they began.
 */
function toyCatalogue(): Catalogue {
  const declare = (
    name: string,
    access: "read" | "write",
    { query = z.strictObject({}), body = z.strictObject({}), output = Note, limit = "default" }: Partial<Route>,
    answer: (input: Record<string, unknown>) => unknown,
  ): Route => {
    const declaration = {
      name,
      http: { method: access === "read" ? "GET" : "POST", path: `/v1/public/${name}` } as const,
      summary: name,
      capability: null,
      open: "It is a toy.",
      query,
      body,
      output,
      limit,
      run: async ({ query, body }: Record<"query" | "body", Record<string, unknown>>) => {
        const input = { ...query, ...body };
        const toy = toyOf();
        toy.calls.push(`${name} ${JSON.stringify(input)}`);
        await toy.before?.(name, input);
        if (input["id"] === "bad") throw new Problem("not_found", "There is no such note.");
        if (access === "write" && toy.version !== undefined) toy.version += 1;
        return answer(input);
      },
    };
    // Both calls do the same. In each, the compiler knows which value `access` has.
    return access === "read" ? defineRoute({ ...declaration, access }) : defineRoute({ ...declaration, access });
  };
  const id = text("The id.");
  const items = ({ page_size: size }: Record<string, unknown>) =>
    Array.from({ length: Number(size) }, (_, index) => noteOf(`n${index}`, toyOf().version));
  return catalogueOf([
    declare("notes.get", "read", { query: z.strictObject({ id }) }, (input) =>
      noteOf(String(input["id"]), toyOf().version),
    ),
    declare("notes.list", "read", { query: z.strictObject(pageQuery), output: pageOf(Note, "notes") }, (input) => ({
      items: items(input),
      page: 1,
      page_size: input["page_size"],
      total: 1000,
    })),
    declare(
      "notes.echo",
      "read",
      { query: z.strictObject({ value: z.unknown() }), output: z.unknown() },
      (input) => input["value"],
    ),
    declare(
      "notes.add",
      "write",
      { body: z.strictObject({ text: z.string().max(50), tags: z.array(z.string().max(5)).optional() }) },
      (input) => noteOf(String(input["text"]), toyOf().version),
    ),
    declare("notes.send", "write", { limit: "outbound", body: z.strictObject({ id }) }, (input) =>
      noteOf(String(input["id"]), toyOf().version),
    ),
    {
      ...declare("notes.reveal", "write", { body: z.strictObject({ id }) }, (input) =>
        noteOf(String(input["id"]), toyOf().version),
      ),
      shownOnce: ["text"],
    },
  ]);
}

/** One catalogue for all programs. To make its schemas takes far longer than to run a program. */
const catalogue = toyCatalogue();

/** The context of a user whose calls cost nothing. */
export function toyContext(now: () => Date = () => new Date()): InvocationContext {
  return {
    requestId: "request-1",
    table: testTable(),
    log: createLog("silent", {}),
    now,
    authenticate: async () => ({ type: "user", id: "somebody", email: "somebody@example.com", groups: [] }),
    charge: async () => undefined,
    isRefused: () => false,
    reserve: async () => ({ isOwn: false, settle: async () => undefined }),
  };
}

/** Whether a program has no mistake that the check finds. */
export const isRight = (program: string): boolean =>
  check(parseProgram(program), { catalogue }).diagnostics.length === 0;

/** Runs a program with the toy functions. Throws if the check finds a mistake in the program. */
export async function runToy(
  program: string,
  toy: Toy,
  more: Partial<RunProgramOptions> & { context?: InvocationContext } = {},
): Promise<ProgramRun> {
  const checked = check(parseProgram(program), {
    catalogue,
    session: new Map([...(more.session ?? [])].map(([name, value]) => [name, { type: keptType(value) }])),
  });
  const [mistake] = checked.diagnostics;
  if (mistake) throw new Error(`${mistake.at.line}:${mistake.at.column} ${mistake.code} ${mistake.message}`);
  return toys.run(toy, () =>
    runProgram(checked, more.context ?? toyContext(), {
      explain: (mistake) => explain([mistake], program, catalogue),
      ...more,
    }),
  );
}

/** The last value of a program. Throws if the program ends with an error. */
export async function valueOf(program: string, session: ReadonlyMap<string, unknown> = new Map()): Promise<unknown> {
  const { lastValue, error } = await runToy(program, { calls: [] }, { session });
  if (error) throw new Error(`${error.line}:${error.column} ${error.code} ${error.message.split("\n")[0]}`);
  return lastValue;
}
