import { expect, test } from "vitest";

import { budgetMs } from "../../../functions/code/evaluator.ts";
import { execute } from "../../../functions/code/execute.ts";
import type { Principal } from "../../../shared/auth/principal.ts";
import type { Door } from "../../../shared/invoke.ts";
import { createLog, type LogFields } from "../../../shared/log.ts";
import { documentClient, openTable } from "../../../shared/table/table.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

/** A door for an account's owner, at times the test gives. */
function doorOf({ owner }: Account, now: () => Date = () => new Date()): Door {
  const principal: Principal = { type: "user", id: owner.id, email: "owner@example.com", groups: [] };
  const authenticate = async () => principal;
  const charge = async () => undefined;
  return { requestId: "request-1", table: testTable(), log: createLog("silent", {}), now, authenticate, charge };
}

const add = (account: Account, name: string) =>
  `workspaces.add(account_id=${JSON.stringify(account.id)}, name=${JSON.stringify(name)})`;
const list = (account: Account, pageSize = 25) =>
  `workspaces.list(account_id=${JSON.stringify(account.id)}, page_size=${pageSize})`;

test("calls run in order, each seeing what those before it did", async () => {
  const account = await newAccount();
  const program = [list(account), add(account, "A"), add(account, "B"), list(account)].join("\n");
  const { status, responses, result, complexity_score } = await execute(program, "r", doorOf(account));
  expect(status).toBe("completed");
  expect(responses).toMatchObject([
    { index: 0, function: "workspaces.list", status: "completed", result: { total: 0 } },
    { index: 1, function: "workspaces.add", status: "completed", result: { name: "A" } },
    { index: 2, function: "workspaces.add", status: "completed", result: { name: "B" } },
    { index: 3, function: "workspaces.list", status: "completed", result: { items: [{ name: "A" }, { name: "B" }] } },
  ]);
  expect(result.last_value).toEqual(responses[3]?.status === "completed" && responses[3].result);
  expect(complexity_score).toBe(4);
});

test("after a failure the completed results stay, and what follows is skipped", async () => {
  const account = await newAccount();
  const program = [add(account, "Sales"), add(account, "sales"), add(account, "Third")].join("\n");
  const answer = await execute(program, "r", doorOf(account));
  const [first] = answer.responses;
  expect(answer).toMatchObject({
    status: "failed",
    result: { last_value: { name: "Sales" } },
    responses: [
      { index: 0, status: "completed", result: { name: "Sales" } },
      { index: 1, function: "workspaces.add", status: "failed" },
      { index: 2, function: "workspaces.add", status: "skipped" },
    ],
    error: {
      code: "workspace_name_taken",
      line: 2,
      column: 1,
      detail: {
        status: 409,
        code: "workspace_name_taken",
        request_id: "request-1",
        conflicts_with: first?.status === "completed" && (first.result as { id: string }).id,
      },
    },
  });
  expect(Object.keys(answer.responses[1] ?? {})).toEqual(["index", "function", "status", "error"]);
  expect(Object.keys(answer.responses[2] ?? {})).toEqual(["index", "function", "status"]);
  expect(answer.error?.message).toMatch(/^workspaces\.add: Another workspace .*\nline 2, column 1:\nworkspaces\.add\(/);
  const after = await execute(list(account), "r", doorOf(account));
  expect(after.result.last_value).toMatchObject({ total: 1 });
});

test("a mistake anywhere leaves nothing done", async () => {
  const account = await newAccount();
  for (const mistake of ["workspaces.ad()", "me.get(x=1)", "me.get(", 'accounts.get(account_id="x")', "me.get()x"]) {
    const answer = await execute(`${add(account, "Never")}\n${mistake}`, "r", doorOf(account));
    expect(answer).toMatchObject({
      status: "failed",
      result: { last_value: null },
      responses: [],
      complexity_score: 0,
      error: { line: 2 },
    });
  }
  const after = await execute(list(account), "r", doorOf(account));
  expect(after.result.last_value).toMatchObject({ total: 0 });
});

test("calls that would begin after the time budget are skipped", async () => {
  const account = await newAccount();
  let elapsedMs = 0;
  const clock = () => new Date(Date.UTC(2026, 0, 1) + (elapsedMs += budgetMs / 8));
  const names = Array.from("ABCDEFGHIJ");
  const answer = await execute(names.map((name) => add(account, name)).join("\n"), "r", doorOf(account, clock));
  const completed = answer.responses.filter(({ status }) => status === "completed").length;
  expect(answer.responses.map(({ status }) => status[0]).join("")).toMatch(/^c+s+$/);
  expect(answer).toMatchObject({
    status: "failed",
    result: { last_value: { name: names[completed - 1] } },
    error: { code: "out_of_time", line: completed + 1, column: 1 },
  });
  const after = await execute(list(account), "r", doorOf(account));
  expect(after.result.last_value).toMatchObject({ total: completed });
});

test("results of more than 1 MiB end in their own error, with those that fit", async () => {
  const account = await newAccount();
  const names = Array.from({ length: 100 }, (_, index) => `${index} ${"漢".repeat(250)}`);
  for (const some of [names.slice(0, 50), names.slice(50)]) {
    const added = await execute(some.map((name) => add(account, name)).join("\n"), "r", doorOf(account));
    expect(added.status).toBe("completed");
  }
  const answer = await execute(`${list(account, 100)}\n`.repeat(15), "r", doorOf(account));
  const completed = answer.responses.filter(({ status }) => status === "completed");
  const failed = answer.responses[completed.length];
  expect(answer).toMatchObject({ status: "failed", complexity_score: 60, error: { code: "result_too_large" } });
  expect(failed).toMatchObject({ status: "failed", error: { code: "result_too_large" } });
  expect(Buffer.byteLength(JSON.stringify(completed))).toBeLessThan(1_048_576 + 15 * 100);
  expect(Buffer.byteLength(JSON.stringify(completed))).toBeGreaterThan(900_000);
  expect(answer.result.last_value).toMatchObject({ total: 100 });
});

test("what went wrong on our side is logged, and leaves as internal", async () => {
  const account = await newAccount();
  const door = doorOf(account);
  const logged: unknown[] = [];
  const log = { ...door.log, error: (message: string, fields?: LogFields) => void logged.push({ message, ...fields }) };
  const table = openTable(documentClient(), "no-such-table");
  const answer = await execute("me.get()", "r", { ...door, log, table });
  expect(answer.error).toMatchObject({ code: "internal", detail: { status: 500 } });
  expect(JSON.stringify(answer)).not.toMatch(/ResourceNotFound|no-such-table/);
  expect(logged).toMatchObject([{ function: "me.get", error: expect.stringContaining("ResourceNotFound") }]);
});

test("no call reaches further than its REST route: another account's things do not exist", async () => {
  const [mine, other] = [await newAccount(), await newAccount()];
  const answer = await execute(`me.get()\n${list(other)}`, "r", doorOf(mine));
  expect(answer).toMatchObject({
    responses: [{ status: "completed" }, { status: "failed", error: { code: "not_found", detail: { status: 404 } } }],
  });
});
