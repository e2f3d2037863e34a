import { randomUUID } from "node:crypto";

import { catalogue } from "../../functions/code/catalogue.ts";
import { check } from "../../functions/code/checker/checker.ts";
import { explain } from "../../functions/code/execution/diagnostics.ts";
import { execute } from "../../functions/code/execution/execute.ts";
import { runProgram } from "../../functions/code/execution/program.ts";
import { runSteps } from "../../functions/code/execution/scheduler.ts";
import { parse } from "../../functions/code/language/parser.ts";
import { createAccount, createClient } from "../../shared/access/operate-accounts.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { createLog } from "../../shared/core/log.ts";
import { invoke, type Door } from "../../shared/http/invoke.ts";
import { documentClient, openTable } from "../../shared/table/table.ts";
import { onOwnEngine } from "./engine.ts";
import { median, type Figure } from "./suite.ts";

const runs = 201;

/** What code mode adds to its calls: reading and checking a program, and running it beside the calls themselves. */
export const codeCost = async (): Promise<Figure[]> => [...reading(), ...(await onOwnEngine(running))];

/** The middle of how long something takes, in milliseconds, after it was done often enough to be compiled. */
function timeOf(run: () => unknown): number {
  const times: number[] = [];
  for (let index = 0; index < runs + 50; index++) {
    const startedAt = performance.now();
    run();
    if (index >= 50) times.push(performance.now() - startedAt);
  }
  return median(times);
}

function reading(): Figure[] {
  const id = randomUUID();
  const lines = Array.from(
    { length: 150 },
    (_, index) =>
      `x${index} = mailboxes.list(account_id="${id}", domain="example.com", page=${index + 1}, page_size=50)`,
  );
  const program = lines.join("\n");
  const parsed = parse(program);
  return [
    { name: "parse 150 calls", value: timeOf(() => parse(program)), unit: "ms", bar: 1 },
    { name: "parse 150 calls: source", value: Buffer.byteLength(program), unit: "bytes" },
    { name: "check 150 calls", value: timeOf(() => check(parsed, { catalogue })), unit: "ms" },
  ];
}

async function running(): Promise<Figure[]> {
  const table = openTable(documentClient(), "bench");
  const principal: Principal = { type: "user", id: randomUUID(), email: "bench@example.com", groups: [] };
  const client = await createClient(table, "Bench");
  const account = await createAccount(table, { client, name: "Bench", ownerId: principal.id }, new Date());
  const door: Door = {
    requestId: "bench",
    log: createLog("silent", {}),
    now: () => new Date(),
    table,
    authenticate: async () => principal,
    charge: async () => undefined,
  };
  const list = catalogue.get("workspaces.list")?.route;
  if (!list) throw new Error("there is no workspaces.list");
  const code = Array.from({ length: 20 }, () => `workspaces.list(account_id="${account.id}")`).join("\n");
  const raw = { params: { account_id: account.id }, query: {}, body: {} };
  const checked = check(parse(code), { catalogue });
  const inOrder = {
    explain: (mistake: Parameters<typeof explain>[0][0]) => explain([mistake], code, catalogue),
    atOnce: 1,
  };
  const variants = {
    bare: async () => {
      for (let call = 0; call < 20; call++) await invoke(list, raw, door);
    },
    ordered: () => runProgram(checked, door, inOrder),
    together: () => execute({ code, requestId: "bench" }, door),
  };
  const times: Record<string, number[]> = { bare: [], ordered: [], together: [], read: [] };
  for (let index = 0; index < runs; index++) {
    for (const [name, run] of Object.entries(variants)) {
      const startedAt = performance.now();
      await run();
      times[name]?.push(performance.now() - startedAt);
    }
    const startedAt = performance.now();
    check(parse(code), { catalogue });
    times["read"]?.push(performance.now() - startedAt);
  }
  return figuresOf((name) => median(times[name] ?? []), await free(code));
}

/** How long the program takes where its calls take no time: what parsing, checking and evaluating cost by themselves. */
async function free(code: string): Promise<number> {
  const nothing = { items: [], page: 1, page_size: 25, total: 0 };
  const times: number[] = [];
  for (let index = 0; index < runs; index++) {
    const startedAt = performance.now();
    const { steps } = check(parse(code), { catalogue });
    await runSteps(steps, { perform: async () => nothing, atOnce: 8, writes: () => false, session: new Map() });
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

function figuresOf(at: (name: string) => number, overheadMs: number): Figure[] {
  return [
    { name: "20 reads, each by itself", value: at("bare"), unit: "ms" },
    { name: "20 reads in a program, one after another", value: at("ordered"), unit: "ms" },
    { name: "20 reads in a program, at the same time", value: at("together"), unit: "ms" },
    { name: "20 reads: parse and check", value: at("read"), unit: "ms" },
    { name: "20 reads: parse, check and evaluate without the calls", value: overheadMs, unit: "ms" },
    { name: "20 reads: that as a share of the reads", value: (100 * overheadMs) / at("bare"), unit: "%", bar: 5 },
  ];
}
