import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { expect, test } from "vitest";

import type { CallResponse, CodeResponse } from "../../../../../functions/code/envelope.ts";
import { summarizeResults } from "../../../../../functions/code/protocols/mcp/results.ts";
import { request } from "../../../../support/request.ts";
import { newAccount, type Account } from "../../../../support/world.ts";

const read = (result: unknown, index = 0): CallResponse => ({
  index,
  function: "workspaces.list",
  status: "completed",
  result,
});
const write = (result: unknown, index = 0): CallResponse => ({ ...read(result, index), function: "workspaces.add" });

const envelope = (last_value: unknown, responses: CallResponse[], more: Partial<CodeResponse> = {}): CodeResponse => ({
  request_id: "r",
  status: "completed",
  result: { last_value },
  responses,
  complexity_score: 1,
  ...more,
});

const page = (items: number) => ({
  items: Array.from({ length: items }, (_, index) => ({ id: `w-${index}`, name: `Workspace ${index}` })),
  total: items,
});
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const failed = (error: Partial<CodeResponse["error"]> = {}): Partial<CodeResponse> => ({
  status: "failed",
  error: { code: "not_found", message: "m", line: 1, column: 1, ...error },
});

test("a value is in the answer once, however small it is", () => {
  const [small, made] = [{ total: 1 }, { id: "w-1" }];
  expect(summarizeResults(envelope(small, [read(small)]))).toEqual({
    ...envelope(small, []),
    responses: [{ ...read(small), result: undefined, bytes: bytes(small) }],
  });
  const both = [write(made, 0), write(small, 1), write({}, 2), write({}, 3)];
  const { responses } = summarizeResults(envelope([made], both)) as CodeResponse;
  expect(responses).toEqual([
    { ...write(made, 0), result: undefined, bytes: bytes(made) },
    write(small, 1),
    { ...write({}, 2), result: undefined, bytes: 4, calls: 2 },
  ]);
});

test("the result of a write is left out if the last value has its id, unless the result has a secret", () => {
  const [made, token] = [
    { id: "w-1", name: "Sales" },
    { id: "s-1", token: "sat_1" },
  ];
  const create = { ...write(token, 1), function: "auth.service_accounts.create" };
  const { responses } = summarizeResults(envelope(["w-1", "s-1"], [write(made), create])) as CodeResponse;
  expect(responses).toEqual([{ ...write(made), result: undefined, bytes: bytes(made) }, create]);
});

test("the entry of an omitted result has the size of the result, not of the text in its place", () => {
  const omitted = { omitted_bytes: 2_000_000, message: "These 2000000 bytes do not fit." };
  const { responses } = summarizeResults(envelope(1, [read(omitted, 0), read(page(1), 1), write(omitted, 2)])) as {
    responses: object[];
  };
  expect(responses).toEqual([
    { index: 0, function: "workspaces.list", status: "completed", bytes: 2_000_000 + bytes(page(1)), calls: 2 },
    { index: 2, function: "workspaces.add", status: "completed", bytes: 2_000_000 },
  ]);
});

test("skipped calls of a function are one entry with their number", () => {
  const skipped = Array.from({ length: 3 }, (_, index) => ({
    index,
    function: "me.get",
    status: "skipped" as const,
  }));
  const { responses } = summarizeResults(envelope(null, skipped, failed())) as CodeResponse;
  expect(responses).toEqual([{ ...skipped[0], calls: 3 }]);
});

test("for reads of a function, the answer has the size of the results and the number of calls", () => {
  const many = [read(page(100), 0), read(page(100), 1), { ...read({ id: 1 }, 2), function: "me.get" }];
  expect(summarizeResults(envelope(3, many))).toMatchObject({
    result: { last_value: 3 },
    responses: [
      { index: 0, function: "workspaces.list", status: "completed", bytes: 2 * bytes(page(100)), calls: 2 },
      { index: 2, function: "me.get", status: "completed", bytes: 8 },
    ],
  });
});

test("a result that is a part of the last value is not repeated in its entry", () => {
  const [one, other] = [page(100), { id: "w-1", name: "x".repeat(3_000) }];
  const { responses } = summarizeResults(envelope([one], [read(one)])) as CodeResponse;
  expect(responses).toEqual([{ ...read(one), result: undefined, bytes: bytes(one) }]);
  expect(JSON.stringify(summarizeResults(envelope([other], [write(other)]))).length).toBeLessThan(3_500);
});

test("the result of a write is in its entry if the last value does not have it, as far as there is room", () => {
  const made = Array.from({ length: 30 }, (_, index) => write({ id: `w-${index}`, name: "x".repeat(500) }, index));
  const { responses } = summarizeResults(envelope("done", [read(page(200)), ...made])) as { responses: object[] };
  expect(responses.slice(0, 3)).toEqual([
    { index: 0, function: "workspaces.list", status: "completed", bytes: bytes(page(200)) },
    made[0],
    made[1],
  ]);
  expect(responses.at(-1)).toMatchObject({ function: "workspaces.add", calls: expect.any(Number) });
  expect(bytes(responses)).toBeLessThan(10_000);
});

test("a last value that is too large is replaced by its size and advice, and a smaller one is returned", () => {
  const answer = summarizeResults(envelope("x".repeat(65_535), [read("x".repeat(65_535))]));
  expect(answer).toMatchObject({
    result: { last_value: { omitted_bytes: 65_537, message: expect.stringContaining('"results" is "all"') } },
    responses: [{ bytes: 65_537 }],
  });
  const noticeFor = (value: unknown) =>
    (summarizeResults(envelope(value, [])) as { result: { last_value: { message: string } } }).result.last_value
      .message;
  const items = Array.from({ length: 1_000 }, () => "x".repeat(98));
  expect(noticeFor(items)).toContain("a part of the 1000 items, as in xs[0:583]");
  expect(noticeFor({ items, total: 1_000 })).toContain("page.items[0:583]");
  expect(noticeFor("x".repeat(100_000))).toContain("text[0:58981]");
  expect(noticeFor({ a: items })).toContain("as in x.name");
  expect(bytes(summarizeResults(envelope("x".repeat(65_534), [])))).toBeGreaterThan(65_534);
});

test("the answer of a failed program has the results of its writes, and its error once", () => {
  const parameters = [{ name: "a", type: "string", required: true, description: "" }];
  const error = { code: "not_found", message: "m", line: 1, column: 1, parameters, detail: { code: "not_found" } };
  const made = Array.from({ length: 40 }, (_, index) => write({ id: `w-${index}`, name: "x".repeat(500) }, index));
  const answer = summarizeResults(
    envelope(page(200), [...made, read(page(200), 40), { index: 41, function: "me.get", status: "failed", error }], {
      status: "failed",
      error,
    }),
  );
  expect(answer).toMatchObject({
    result: { last_value: { omitted_bytes: bytes(page(200)), message: expect.stringContaining("failed") } },
    error: { code: "not_found", message: "m", line: 1, column: 1, detail: { code: "not_found" } },
  });
  const { responses, error: told } = answer as { responses: object[]; error: object };
  expect(responses).toEqual([
    ...made,
    { index: 40, function: "workspaces.list", status: "completed", bytes: bytes(page(200)) },
    { index: 41, function: "me.get", status: "failed", error: { code: "not_found" } },
  ]);
  expect(told).not.toHaveProperty("parameters");
  const mistaken = summarizeResults(envelope(null, [], failed({ detail: [{ loc: ["body"], msg: "m", type: "t" }] })));
  expect((mistaken as CodeResponse).error).toEqual({ code: "not_found", message: "m", line: 1, column: 1 });
});

async function call(account: Account, args: object, name = "service_execute") {
  const body = { jsonrpc: "2.0", id: "r", method: "tools/call", params: { name, arguments: args } };
  const answer = await request("POST", "/v1/public/mcp", { token: account.owner.token, body });
  const { text } = answer.body.result.content[0];
  return { tokens: encode(text).length, text, envelope: JSON.parse(text) };
}

test("the text over MCP is the whole A2A response, unless the client asks for less; service_query gives less by default", async () => {
  const account = await newAccount();
  const list = `workspaces.list(account_id="${account.id}")`;
  await call(account, { code: `[workspaces.add(account_id="${account.id}", name=f"W {i}").id for i in range(12)]` });
  const code = `[${list}.total for i in range(5)]`;
  const sent = { token: account.owner.token, body: { request_id: "r", session_id: "s", code } };
  const whole = (await request("POST", "/v1/public/a2a", sent)).text.trimEnd();
  expect(Buffer.byteLength(whole)).toBeGreaterThan(10_000);
  expect((await call(account, { code })).text).toBe(whole);
  expect((await call(account, { code, results: "all" }, "service_query")).text).toBe(whole);
  const short = await call(account, { code, results: "last" });
  expect(short.envelope.responses).toEqual([expect.objectContaining({ calls: 5, bytes: expect.any(Number) })]);
  expect((await call(account, { code }, "service_query")).text).toBe(short.text);
  const failing = { code: `${list}\nworkspaces.add(account_id="${account.id}", name="W 1")` };
  const failed = await request("POST", "/v1/public/a2a", {
    ...sent,
    body: { ...sent.body, ...failing, request_id: "f" },
  });
  const told = JSON.parse(failed.text);
  expect(told.error.code).toBe("workspace_name_taken");
  const { envelope } = await call(account, failing);
  // The request ids differ, and so does the advice, because only the A2A request can be sent again.
  const same = (one: CodeResponse) => ({ ...one, request_id: "", error: one.error?.code, responses: one.responses[0] });
  expect(same(envelope)).toEqual(same(told));
}, 30_000);

test("with `results: last`, an answer grows with the values that a program picks, and not with the values that it searches", async () => {
  const account = await newAccount();
  const addMany = `[workspaces.add(account_id="${account.id}", name=f"Workspace {i}").id for i in range(60)]`;
  const pick = (code: string) => call(account, { code, results: "last" });
  const made = await pick(addMany);
  expect(made.envelope.result.last_value).toHaveLength(60);
  const list = `workspaces.list(account_id="${account.id}", page_size=100)`;
  const count = await pick(`len([w for w in ${list}.items if w.name == "Workspace 7"])`);
  expect([count.envelope.result.last_value, count.tokens < 60]).toEqual([1, true]);
  const other = await newAccount();
  const looped = await call(other, {
    code: `[workspaces.list(account_id="${other.id}", page_size=100).total for i in range(60)]`,
    results: "last",
  });
  expect([looped.envelope.status, looped.envelope.result.last_value.length]).toEqual(["completed", 60]);
  expect(looped.tokens).toBeLessThan(250);
  const listed = await pick(list);
  const whole = await call(account, { code: `${list}\n1` });
  expect(whole.envelope.responses[0].result).toEqual(listed.envelope.result.last_value);
  expect(listed.tokens / whole.tokens).toBeLessThan(1.05);
}, 30_000);

test("the envelope over HTTP keeps every result", async () => {
  const { id, owner } = await newAccount();
  const code = `[workspaces.list(account_id="${id}").total for i in range(40)]`;
  const body = { request_id: "r", session_id: "s", code };
  const { body: answer } = await request("POST", "/v1/public/a2a", { token: owner.token, body });
  expect(answer.responses).toHaveLength(40);
  expect(answer.responses[39].result).toMatchObject({ total: 0 });
});
