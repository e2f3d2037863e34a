import { expect, test } from "vitest";

import { request } from "../../../../support/request.ts";
import { grant, newAccount, newMember, type Account } from "../../../../support/world.ts";

type Arguments = Record<string, unknown> | undefined;

/** Calls a tool, always with the JSON-RPC id 1, like a client that has just connected. */
async function call(token: string, name: string, args: Arguments) {
  const params = { name, ...(args === undefined ? {} : { arguments: args }) };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const answer = await request("POST", "/v1/public/mcp", { token, body });
  expect(answer.status).toBe(200);
  const { content, isError } = answer.body.result;
  return { isError, envelope: JSON.parse(content[0].text) };
}

const execute = ({ owner }: Account, args: Arguments) => call(owner.token, "service_execute", args);
const query = ({ owner }: Account, args: Arguments) => call(owner.token, "service_query", args);
const add = ({ id }: Account, name = "Sales") => `workspaces.add(account_id="${id}", name="${name}")`;
const list = ({ id }: Account) => `workspaces.list(account_id="${id}")`;
const totalOf = async (account: Account) =>
  (await query(account, { code: list(account) })).envelope.result.last_value.total;

test.each([
  ["a mistake in the program", { code: "me.get(x=1)" }, "unknown_argument"],
  ["a program that is too long", { code: `me.get()#${"x".repeat(65_536)}` }, "source_too_large"],
  ["a call that fails", { code: 'accounts.get(account_id="99999999-9999-4999-8999-999999999999")' }, "not_found"],
  ["no code", {}, "invalid_argument"],
  ["no arguments", undefined, "invalid_argument"],
  ["code that is no text", { code: 1 }, "invalid_argument"],
  ["another argument", { code: "me.get()", x: 1 }, "invalid_argument"],
  ["a dry_run that is a text", { code: "me.get()", dry_run: "yes" }, "invalid_argument"],
  ["a session_id with a space", { code: "me.get()", session_id: "a b" }, "invalid_argument"],
  ["an empty request_id", { code: "me.get()", request_id: "" }, "invalid_argument"],
])(
  "%s is an error of the tool, which the model can read",
  async (_, args, code) => {
    const account = await newAccount();
    for (const tool of [execute, query]) {
      const { isError, envelope } = await tool(account, args);
      expect(isError).toBe(true);
      expect(envelope).toMatchObject({ status: "failed", error: { code } });
    }
  },
  30_000,
);

test("an answer to invalid arguments or over the rate limit has the request_id of the call", async () => {
  const account = await newAccount();
  const invalid = await execute(account, { request_id: "mine", code: 1 });
  expect(invalid.envelope).toMatchObject({ request_id: "mine", error: { code: "invalid_argument" } });
  expect((await execute(account, { request_id: "a b", code: "me.get()" })).envelope.request_id).toBe("1");
  await execute(account, { code: "me.get()\n".repeat(120) });
  const limited = await execute(account, { request_id: "mine", code: "me.get()" });
  expect(limited.envelope).toMatchObject({ request_id: "mine", error: { code: "rate_limited" } });
});

test("the error for a wrong argument names its place and the allowed arguments", async () => {
  const { envelope } = await execute(await newAccount(), { code: "me.get()", session_id: "a b", dryRun: true });
  expect(envelope.error.message).toContain("service_execute needs code");
  expect(envelope.error.message).toContain("arguments.session_id: Write 1 to 128 visible ASCII characters");
  expect(envelope.error.message).toContain("dryRun");
});

test("arguments that are too many or of a wrong type are an error of the tool with a short message", async () => {
  const account = await newAccount();
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`x${index}${"y".repeat(100)}`, index]));
  for (const args of [{ ...many }, { code: { code: "me.get()" } }, { code: ["me.get()"] }, { code: null }]) {
    const { isError, envelope } = await execute(account, args);
    expect([isError, envelope.error.code]).toEqual([true, "invalid_argument"]);
    expect(envelope.error.message.length).toBeLessThan(1_000);
  }
});

test("service_query runs programs that only read, and refuses other programs before they begin", async () => {
  const account = await newAccount();
  await execute(account, { code: add(account) });
  const { isError, envelope } = await query(account, { code: list(account) });
  expect([isError, envelope.result.last_value.total]).toEqual([false, 1]);
  const refused = await query(account, { code: `${list(account)}\n${add(account, "Support")}` });
  expect(refused).toMatchObject({ isError: true, envelope: { responses: [], error: { code: "read_only" } } });
  expect(await totalOf(account)).toBe(1);
});

test("each call of a program needs the permission of its function, as over REST", async () => {
  const account = await newAccount();
  const member = await newMember(account, { role: "viewer" });
  const { envelope } = await call(member.token, "service_execute", { code: `${list(account)}\n${add(account)}` });
  expect(envelope.responses).toMatchObject([
    { status: "completed" },
    { status: "failed", error: { code: "forbidden" } },
  ]);
  await grant(account, member, { owner: true });
  expect(await call(member.token, "service_execute", { code: add(account) })).toMatchObject({ isError: false });
});

test("dry_run lists the calls of a program, and changes nothing", async () => {
  const account = await newAccount();
  const { isError, envelope } = await execute(account, { code: add(account), dry_run: true });
  expect(isError).toBe(false);
  expect(envelope.dry_run.calls).toMatchObject([{ function: "workspaces.add", access: "write", held: true }]);
  expect(await totalOf(account)).toBe(0);
});

test("programs with the same session_id share their variables, over both tools", async () => {
  const account = await newAccount();
  await execute(account, { code: `ws = ${add(account)}`, session_id: "s-1" });
  const code = `workspaces.get(account_id="${account.id}", workspace_id=ws.id)`;
  const { envelope } = await query(account, { code, session_id: "s-1" });
  expect(envelope).toMatchObject({ status: "completed", result: { last_value: { name: "Sales" } } });
  expect(await query(account, { code })).toMatchObject({ isError: true });
});

test("a program that is sent again with its request_id gets the same answer, and runs once", async () => {
  const account = await newAccount();
  const args = { code: add(account), request_id: "again-1" };
  const first = await execute(account, args);
  expect(first).toMatchObject({ isError: false, envelope: { request_id: "again-1" } });
  expect(await execute(account, args)).toEqual(first);
  expect(await totalOf(account)).toBe(1);
});

test("of two calls with the same request_id at once, one runs, and the other is told to wait or gets the same answer", async () => {
  const account = await newAccount();
  const args = { code: add(account), request_id: "twice-1" };
  const both = await Promise.all([execute(account, args), execute(account, args)]);
  for (const { isError, envelope } of both) {
    if (isError) expect(envelope).toMatchObject({ request_id: "twice-1", error: { code: "idempotency_in_flight" } });
    else expect(envelope.result.last_value.name).toBe("Sales");
  }
  expect(both.some(({ isError }) => !isError)).toBe(true);
  expect(await totalOf(account)).toBe(1);
});

test("a second call with the same JSON-RPC id runs its program again", async () => {
  const account = await newAccount();
  expect((await execute(account, { code: add(account) })).isError).toBe(false);
  const again = await execute(account, { code: add(account) });
  expect(again.envelope.error).toMatchObject({ code: "workspace_name_taken" });
});
