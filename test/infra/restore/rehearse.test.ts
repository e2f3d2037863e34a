import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";

import { afterEach, expect, test, vi } from "vitest";

import { rehearse } from "../../../infra/restore/rehearse.ts";
import { createAccount } from "../../../shared/access/operate-accounts.ts";
import { operatorCommit } from "../../../shared/changes/recorder.ts";
import type { Table } from "../../../shared/table/table.ts";
import { planWallet } from "../../../shared/wallet/wallet.ts";
import { scene, type Row } from "./fake-restores.ts";

const tidyUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const tidy of tidyUps.splice(0)) await tidy();
});

const longAgo = new Date(Date.now() - 3_600_000);

/** Creates accounts with a wallet, and with changes of an hour ago. */
async function fill(table: Table, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const client = { id: randomUUID(), name: "Client" };
    const { id } = await createAccount(table, { client, name: `A${index}`, ownerId: randomUUID() }, longAgo);
    const posting = { kind: "transfer", debit: "payments", credit: "wallet", code: "topup", type: "topup" } as const;
    await operatorCommit(
      table,
      id,
      "test",
      longAgo,
    )(async () => {
      const { writes, changes } = await planWallet(
        table,
        id,
        [{ ...posting, id: "first", amount: 500, description: "Test" }],
        longAgo,
      );
      return { value: undefined, writes, changes };
    });
  }
}

/** A rehearsal of a table with three accounts. */
async function rehearsing(
  options: Parameters<typeof scene>[0] = {},
  more: Partial<Parameters<typeof rehearse>[0]> = {},
) {
  const made = await scene(options);
  tidyUps.push(made.tidy);
  await fill(made.table, 3);
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", made.url);
  const said: string[] = [];
  const result = rehearse({
    table: made.source,
    sample: 20,
    keep: false,
    pollMs: 1,
    signal: new AbortController().signal,
    say: (line) => void said.push(line),
    now: () => new Date(),
    ...more,
  });
  return { ...made, said, result };
}

test("a rehearsal restores the latest state to a scratch table, finds no difference, and deletes the scratch table", async () => {
  const { source, result, asked, tables, said } = await rehearsing();
  const { problems, scratch, ...counts } = await result;
  expect(problems).toEqual([]);
  expect(counts).toMatchObject({ accounts: 3, compared: 3, changes: expect.any(Number) });
  expect(counts.changes).toBeGreaterThanOrEqual(3);
  expect(asked).toMatchObject([{ SourceTableName: source, TargetTableName: scratch }]);
  expect(scratch).toMatch(new RegExp(`^${source}-rehearsal-\\d{8}T\\d{6}Z$`));
  expect(await tables()).toEqual([source]);
  expect(said.at(-1)).toBe(`Deleted ${scratch}.`);
});

const isA = (prefix: string, { SK }: Row): boolean => SK?.S?.startsWith(prefix) === true;

test.each<[string, (row: Row) => Row | undefined, RegExp]>([
  ["lost changes", (row) => (isA("JOURNAL#changes#ENTRY#", row) ? undefined : row), /\d+ of \d+ changes are missing/],
  [
    "another balance",
    (row) => (isA("LEDGER#BALANCE#wallet", row) ? { ...row, credits_posted: { N: "501" } } : row),
    /credits exceed debits by 1/,
  ],
  [
    "another entry",
    (row) => (isA("LEDGER#ENTRY#wallet", row) ? { ...row, code: { S: "forged" } } : row),
    /entries differ from the source table/,
  ],
  [
    "a lost row of a list",
    (row) => (isA("LIST#transactions#ROW", row) ? undefined : row),
    /the count of the list transactions differs from the number of its rows/,
  ],
])("a rehearsal reports %s for each account, and still deletes the scratch table", async (_, restored, problem) => {
  const { source, result, tables } = await rehearsing({ restored });
  const { problems } = await result;
  expect(problems.filter((text) => problem.test(text))).toHaveLength(3);
  expect(problems[0]).toMatch(/^account [0-9a-f-]{36}: /);
  expect(await tables()).toEqual([source]);
});

test("changes after the restored time are not reported as a difference", async () => {
  const { table, result, source, tables } = await rehearsing({}, { sample: 2 });
  await fill(table, 1);
  expect(await result).toMatchObject({ compared: 2, problems: [] });
  expect(await tables()).toEqual([source]);
});

test("with `keep`, a rehearsal leaves the scratch table, and says how to delete the table", async () => {
  const { result, tables, said } = await rehearsing({}, { keep: true });
  const { scratch } = await result;
  expect(await tables()).toContain(scratch);
  expect(said.at(-1)).toContain(`aws dynamodb delete-table --table-name ${scratch}`);
});

test("a rehearsal that is interrupted during the restore says how to delete the scratch table later", async () => {
  const interrupted = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => {
    lines.push(line);
    if (line.includes("CREATING")) interrupted.abort();
  };
  const { result } = await rehearsing({ creating: 1_000_000 }, { signal: interrupted.signal, say });
  await expect(result).rejects.toMatchObject({ name: "AbortError" });
  expect(lines.at(-1)).toMatch(/cannot be deleted while it is being restored.*delete-table --table-name source-/);
});

test("a rehearsal that is interrupted during the comparison deletes the scratch table", async () => {
  const interrupted = new AbortController();
  const lines: string[] = [];
  const say = (line: string): void => {
    lines.push(line);
    if (line.includes("Comparing")) interrupted.abort();
  };
  const { result, source, tables } = await rehearsing({}, { signal: interrupted.signal, say });
  await expect(result).rejects.toMatchObject({ name: "AbortError" });
  expect(await tables()).toEqual([source]);
  expect(lines.at(-1)).toMatch(/^Deleted /);
});

test.each([
  [{ recovery: "DISABLED" as const }, {}, "point-in-time recovery is not enabled"],
  [{}, { at: new Date("2020-01-01T00:00:00Z") }, "Choose a time from"],
])("a rehearsal with %j %j is refused before a table is created", async (options, more, reason) => {
  const { result, asked, source, tables } = await rehearsing(options, more);
  await expect(result).rejects.toThrow(reason);
  expect(asked).toEqual([]);
  expect(await tables()).toEqual([source]);
});

const main = resolve(import.meta.dirname, "../../../infra/restore/main.ts");
const command = (...args: string[]) =>
  new Promise<{ code: number; text: string }>((settle) => {
    execFile(process.execPath, [main, ...args], (error, out, err) =>
      settle({ code: typeof error?.code === "number" ? error.code : 0, text: out + err }),
    );
  });

test("the command shows its arguments with --help, and refuses missing and unknown arguments", async () => {
  expect(await command("--help")).toMatchObject({ code: 0, text: expect.stringContaining("--sample N") });
  expect(await command()).toMatchObject({ code: 2, text: expect.stringContaining("table") });
  expect(await command("--table", "t", "--samples", "3")).toMatchObject({ code: 2 });
});
