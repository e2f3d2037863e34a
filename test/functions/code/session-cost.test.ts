import { randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { execute, type Run } from "../../../functions/code/execution/execute.ts";
import { executeIdempotently } from "../../../functions/code/execution/replay.ts";
import { Problem } from "../../../shared/core/errors.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import type { Charge } from "../../../shared/rate-limits/limiter.ts";
import { codeContext, runFor } from "../../support/code-context.ts";
import { request } from "../../support/request.ts";
import { newAccount, newServiceAccount, newUser, testTable } from "../../support/world.ts";

const inSession = { sessionId: "s" };
const noUsage = () => ({ readUnits: 0, writeUnits: 0, calls: 0 });
const minute = 60_000;

/** Lines that assign 240 KB of random text, which cannot be compressed much, to four variables. */
const fullOf = (): string =>
  Array.from({ length: 4 }, (_, index) => `v${index} = "${randomBytes(30_000).toString("hex")}"`).join("\n");
async function fill(user: { id: string }): Promise<void> {
  for (const line of fullOf().split("\n")) await runFor(user, line, inSession);
}

/** Returns a function that runs a program of the user, and returns what the program reads, writes and is charged. */
function metered(user: { id: string }, room = Number.POSITIVE_INFINITY) {
  const start = Date.now();
  return async (code: string, { laterMs = 0, ...more }: Partial<Run> & { laterMs?: number } = {}) => {
    const usage = noUsage();
    const charged: number[] = [];
    const charge: InvocationContext["charge"] = async ({ cost }: Charge) => {
      if (cost > room) throw new Problem("rate_limited", "Too many");
      charged.push(cost);
    };
    const now = () => new Date(start + laterMs);
    const reserve: InvocationContext["reserve"] = async (what) => {
      await charge(what);
      return { isOwn: false, settle: async () => undefined };
    };
    const context = { ...codeContext(user, now), table: testTable(usage), charge, reserve };
    const answer = await execute({ code, requestId: "r", ...inSession, ...more }, context);
    return { answer, charged, ...usage };
  };
}

test("a program that only reads a full session writes nothing, or after some minutes only the time of its last use", async () => {
  const user = newUser();
  await fill(user);
  const run = metered(user);
  await run("len(v0)");
  expect(await run("len(v0)")).toMatchObject({ answer: { status: "completed" }, writeUnits: 0 });
  const later = await run("len(v0)", { laterMs: 6 * minute });
  expect(later.writeUnits).toBeGreaterThan(0);
  expect(later.writeUnits).toBeLessThanOrEqual(2);
  expect(await run("len(v0)", { laterMs: 65 * minute })).toMatchObject({ answer: { result: { last_value: 60_000 } } });
});

test("variables are written once, and charged by the size of the session", async () => {
  const user = newUser();
  await fill(user);
  const run = metered(user);
  const { writeUnits, charged } = await run("x = 1");
  expect(writeUnits).toBeLessThan(260);
  expect(charged).toEqual([58]);
  expect((await run("len(v0)")).charged).toEqual([7]);
  expect(await metered(newUser())("x = 1")).toMatchObject({ charged: [] });
});

test("if the rate limit has no room to store variables, the answer names them, and the program still completes", async () => {
  const user = newUser();
  await fill(user);
  const { answer, writeUnits } = await metered(user, 50)("x = me.get()");
  expect(answer).toMatchObject({
    status: "completed",
    session: { not_kept: [{ name: "x", code: "not_stored", message: expect.stringContaining("rate limit") }] },
  });
  expect(writeUnits).toBe(0);
});

test("a program that asks for its session many times reads it once, does not write it, and is charged for its size", async () => {
  const user = newUser();
  await fill(user);
  const run = metered(user);
  await run("len(v0)");
  const renewing = await run("[auth.session.authenticate().session_id for i in range(60)]");
  expect(renewing).toMatchObject({ answer: { status: "completed" }, writeUnits: 0, charged: [59, 7] });
  expect(renewing.readUnits).toBeLessThan(100);
  const shown = await run("[auth.session.get().session_id for i in range(20)]");
  expect(shown).toMatchObject({ answer: { status: "completed" }, writeUnits: 0, charged: [19, 7] });
  expect(shown.readUnits).toBeLessThan(100);
  expect((await run("len(v0)\nauth.session.get().session_id")).charged).toEqual([7]);
  expect((await metered(user, 5)("auth.session.get()")).answer.error?.code).toBe("rate_limited");
});

test("a program sees its own changes to its session: a renewed session has a new last use, and an ended session is empty", async () => {
  const user = newUser();
  await runFor(user, "x = 1", inSession);
  const run = metered(user);
  const later = { laterMs: 10 * minute };
  const both =
    "[auth.session.get().last_used_at < auth.session.authenticate().last_used_at, auth.session.get().expires_at == auth.session.authenticate().expires_at]";
  expect((await run(both, later)).answer.result.last_value).toEqual([true, true]);
  const ended =
    "auth.session.end()\na = auth.session.get()\nb = auth.session.authenticate()\n[a.created_at, a.variables, b.created_at == None]";
  expect((await run(ended, later)).answer.result.last_value).toEqual([null, [], false]);
});

test("a program with a score near or above the quota keeps its variables", async () => {
  const explained = (count: number) => `[functions.explain(name="me.get") for i in range(${count})]`;
  for (const count of [55, 45]) {
    const { token } = newUser();
    const code = `x = ${explained(count)} + ${explained(count)}`;
    const { body } = await request("POST", "/v1/public/a2a", {
      token,
      body: { request_id: "r", session_id: "s", code },
    });
    expect(body).toMatchObject({ status: "completed", complexity_score: 2 * count });
    expect(body).not.toHaveProperty("session");
  }
});

describe("an envelope", () => {
  const large = () => `me.get()\n"${randomBytes(30_000).toString("hex")}"`;

  /** Returns a function that sends a program with `room` left in the rate limit, and returns the charges. */
  const sender =
    (user: { id: string }, code: string) =>
    async (room = Number.POSITIVE_INFINITY) => {
      const charged: number[] = [];
      const charge: InvocationContext["charge"] = async ({ cost }: Charge) => {
        if (cost > room) throw new Problem("rate_limited", "Too many");
        charged.push(cost);
      };
      const { replayed, envelope } = await executeIdempotently(
        { code, requestId: "r", ...inSession },
        { ...codeContext(user), charge },
      );
      return { replayed, status: envelope.status, charged };
    };

  test("is charged by the bytes that are written and read", async () => {
    const send = sender(newUser(), large());
    const first = await send();
    expect(first).toMatchObject({
      replayed: false,
      status: "completed",
      charged: [expect.toSatisfy((cost: number) => cost >= 7)],
    });
    expect(await send()).toEqual({ replayed: true, status: "completed", charged: [1] });
    await expect(send(0)).rejects.toMatchObject({ code: "rate_limited" });
  });

  test("for which the rate limit has no room is not stored, and the program still completes", async () => {
    const send = sender(newUser(), large());
    expect(await send(1)).toEqual({ replayed: false, status: "completed", charged: [] });
    expect(await send()).toMatchObject({ replayed: false, status: "completed" });
  });

  test("of a program without a call is not stored", async () => {
    const send = sender(newUser(), `"${randomBytes(30_000).toString("hex")}"`);
    expect([await send(), await send()]).toEqual(
      Array.from({ length: 2 }, () => ({ replayed: false, status: "completed", charged: [] })),
    );
  });
});

test("a principal has at most a hundred sessions: a further session ends the session whose last use is the oldest", async () => {
  const user = newUser();
  const start = Date.now();
  const at = (index: number) => ({ sessionId: `s${index}`, now: () => new Date(start + index * 1_000) });
  for (let index = 0; index < 102; index += 1) await runFor(user, `x = ${index}`, at(index));
  for (const index of [0, 1]) {
    expect((await runFor(user, "x", { ...at(200), sessionId: `s${index}` })).error?.code).toBe("unknown_variable");
  }
  for (const index of [2, 50, 101]) {
    expect((await runFor(user, "x", { ...at(200), sessionId: `s${index}` })).result.last_value).toBe(index);
  }
  const items = await testTable().between(`PRINCIPAL#${user.id}`, "SESSION#", "SESSION#~");
  expect(items).toHaveLength(100);
});

test("the end of a session also deletes the variables of programs that ran at the same time as an earlier end", async () => {
  const user = newUser();
  await runFor(user, "old = 1", inSession);
  await Promise.all([
    runFor(user, "auth.session.end()", inSession),
    ...Array.from({ length: 4 }, (_, index) => runFor(user, `new${index} = 1`, inSession)),
  ]);
  await runFor(user, "auth.session.end()\nlast = 1", inSession);
  const { result } = await runFor(user, "[v.name for v in auth.session.get().variables]", inSession);
  expect(result.last_value).toEqual(["last"]);
});

test("a read-only program changes no variables of its session, and its answer names the variables that were not kept", async () => {
  const user = newUser();
  await runFor(user, "target = 'mine'", inSession);
  const { status, session } = await runFor(user, "target = 'other'\nmore = 1", { ...inSession, readOnly: true });
  expect(status).toBe("completed");
  expect(session?.not_kept.map(({ name, code }) => `${name} ${code}`)).toEqual(["target read_only", "more read_only"]);
  expect((await runFor(user, "target", { ...inSession, readOnly: true })).result.last_value).toBe("mine");
  expect((await runFor(user, "more", inSession)).error?.code).toBe("unknown_variable");
});

test("service_query does not change the variables of a session", async () => {
  const { token } = newUser();
  const call = async (name: string, code: string) => {
    const params = { name, arguments: { code, session_id: "s" } };
    const { body } = await request("POST", "/v1/public/mcp", {
      token,
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    });
    return JSON.parse(body.result.content[0].text);
  };
  await call("service_execute", "target = 'mine'");
  expect(await call("service_query", "target = 'other'")).toMatchObject({
    session: { not_kept: [{ name: "target", code: "read_only" }] },
  });
  expect((await call("service_execute", "target")).result.last_value).toBe("mine");
});

test("URLs that contain a key are returned, but stored neither in a session nor for a repeat", async () => {
  const account = await newAccount();
  const add = `webhooks.add(account_id="${account.id}", url="https://hooks.example.com/in?key=hush", event_types=["*"])`;
  expect((await runFor(account.owner, add)).status).toBe("completed");
  const code = `hooks = webhooks.list(account_id="${account.id}")\nurl = hooks.items[0].url\nn = 1\nhooks`;
  const run = () => executeIdempotently({ code, requestId: "r", ...inSession }, codeContext(account.owner));
  const { envelope } = await run();
  expect(JSON.stringify(envelope.result)).toContain("hush");
  expect(envelope.session?.not_kept.map(({ name, code: why }) => `${name} ${why}`)).toEqual([
    "hooks secret",
    "url secret",
  ]);
  const stored = JSON.stringify(await testTable().between(`PRINCIPAL#${account.owner.id}`, "!", "~"));
  expect(stored).not.toContain("hush");
  expect(stored).not.toContain("code.request");
  expect(await run()).toMatchObject({ replayed: false });
});

test("the answer of a call with a URL that contains a key is not stored either, and a repeat of the call is refused", async () => {
  const account = await newAccount();
  const own = `account_id="${account.id}"`;
  const add = `webhooks.add(${own}, url="https://hooks.example.com/in", event_types=["*"]).id`;
  const { result } = await runFor(account.owner, add);
  const url = "https://hooks.example.com/in?key=hush";
  const code = `webhooks.update(${own}, webhook_id="${String(result.last_value)}", url="${url}")\n1`;
  const run = () => executeIdempotently({ code, requestId: "r", ...inSession }, codeContext(account.owner));
  expect((await run()).envelope.status).toBe("completed");
  expect(JSON.stringify(await testTable().between(`PRINCIPAL#${account.owner.id}`, "!", "~"))).not.toContain("hush");
  const again = await run();
  expect(again).toMatchObject({
    replayed: false,
    envelope: {
      status: "failed",
      error: { code: "secret_already_shown", message: expect.stringContaining("address") },
    },
  });
  const path = `/v1/public/accounts/${account.id}/webhooks/${String(result.last_value)}`;
  const headers = { "idempotency-key": "k" };
  const patch = () => request("PATCH", path, { token: account.owner.token, headers, body: { url: `${url}2` } });
  expect([(await patch()).body.url, (await patch()).body.url]).toEqual([`${url}2`, `${url}2`]);
});

test("a session belongs to one principal: another service account does not have its variables", async () => {
  const account = await newAccount();
  const one = await newServiceAccount(account, { role: "viewer" });
  const other = await newServiceAccount(account, { role: "viewer" });
  const send = (token: string, code: string, id: string) =>
    request("POST", "/v1/public/a2a", { token, body: { request_id: id, session_id: "s", code } });
  await send(one.token, "x = 1", "a");
  expect((await send(one.token, "x", "b")).body.result.last_value).toBe(1);
  expect((await send(other.token, "x", "b")).body.error.code).toBe("unknown_variable");
});
