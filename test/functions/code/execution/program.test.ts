import { expect, test } from "vitest";

import { execute } from "../../../../functions/code/execution/execute.ts";
import type { LogFields } from "../../../../shared/core/log.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import { TableClient } from "../../../../shared/table/client.ts";
import { openTable } from "../../../../shared/table/table.ts";
import { codeContext } from "../../../support/code-context.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const contextOf = ({ owner }: Account): InvocationContext => codeContext(owner);

const add = (account: Account, name: string) =>
  `workspaces.add(account_id=${JSON.stringify(account.id)}, name=${JSON.stringify(name)})`;
const list = (account: Account, pageSize = 25) =>
  `workspaces.list(account_id=${JSON.stringify(account.id)}, page_size=${pageSize})`;

test("calls run in order, and each sees the effects of the calls before it", async () => {
  const account = await newAccount();
  const program = [list(account), add(account, "A"), add(account, "B"), list(account)].join("\n");
  const { status, responses, result, complexity_score } = await execute(
    { code: program, requestId: "r" },
    contextOf(account),
  );
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

test("after a failure the completed results stay, and later calls are skipped", async () => {
  const account = await newAccount();
  const program = [add(account, "Sales"), add(account, "sales"), add(account, "Third")].join("\n");
  const answer = await execute({ code: program, requestId: "r" }, contextOf(account));
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
  const after = await execute({ code: list(account), requestId: "r" }, contextOf(account));
  expect(after.result.last_value).toMatchObject({ total: 1 });
});

test("a program with a mistake anywhere makes no call", async () => {
  const account = await newAccount();
  for (const mistake of ["workspaces.ad()", "me.get(x=1)", "me.get(", 'accounts.get(account_id="x")', "me.get()x"]) {
    const answer = await execute({ code: `${add(account, "Never")}\n${mistake}`, requestId: "r" }, contextOf(account));
    expect(answer).toMatchObject({
      status: "failed",
      result: { last_value: null },
      responses: [],
      complexity_score: 0,
      error: { line: 2 },
    });
  }
  const after = await execute({ code: list(account), requestId: "r" }, contextOf(account));
  expect(after.result.last_value).toMatchObject({ total: 0 });
});

test("an unexpected error is logged, and returned as internal without its cause", async () => {
  const account = await newAccount();
  const context = contextOf(account);
  const logged: unknown[] = [];
  const log = {
    ...context.log,
    error: (message: string, fields?: LogFields) => void logged.push({ message, ...fields }),
  };
  const table = openTable(new TableClient(), "no-such-table");
  const answer = await execute({ code: "me.get()", requestId: "r" }, { ...context, log, table });
  expect(answer.error).toMatchObject({ code: "internal", detail: { status: 500 } });
  expect(JSON.stringify(answer)).not.toMatch(/ResourceNotFound|no-such-table/);
  expect(logged).toMatchObject([{ function: "me.get", error: expect.stringContaining("ResourceNotFound") }]);
});

test("a call can reach no more than its REST route: a call for another account gets not_found", async () => {
  const [mine, other] = [await newAccount(), await newAccount()];
  const answer = await execute({ code: `me.get()\n${list(other)}`, requestId: "r" }, contextOf(mine));
  expect(answer).toMatchObject({
    responses: [{ status: "completed" }, { status: "failed", error: { code: "not_found", detail: { status: 404 } } }],
  });
});
