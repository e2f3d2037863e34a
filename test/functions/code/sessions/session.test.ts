import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { execute } from "../../../../functions/code/execution/execute.ts";
import { sessionLimitBytes } from "../../../../functions/code/language/limits.ts";
import { endSession, loadSession, renewSession, saveSession } from "../../../../functions/code/sessions/session.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { codeContext, runFor } from "../../../support/code-context.ts";
import { createMemoryStore, everything, openMemoryTable, type MemoryStore } from "../../../support/memory-table.ts";
import { newAccount, newUser, testTable } from "../../../support/world.ts";

const sessionId = "session-1";
const inSession = { sessionId };

/**
 * Opens a table of the store. The table runs `step` once, before its first write of an item whose key contains `key`.
 */
function interruptedTable(store: MemoryStore, key: string, step: () => Promise<unknown>) {
  let hasRun = false;
  const table = openMemoryTable(store, {
    step: async (place) => {
      if (hasRun || !place.startsWith("write") || !place.includes(key)) return undefined;
      hasRun = true;
      await step();
      return undefined;
    },
  });
  return { table, hasRun: () => hasRun };
}

test("a variable is there for the next program of the session, until it gets another value", async () => {
  const user = newUser();
  await runFor(user, "x = me.get()\nn = [1, {'a': None}]", inSession);
  const next = await runFor(user, "x = [x.id, n]\nme.get()", inSession);
  expect(next.status).toBe("completed");
  const last = await runFor(user, "x", inSession);
  expect(last.result.last_value).toEqual([user.id, [1, { a: null }]]);
  expect(last).not.toHaveProperty("session");
});

test("a session that is used while another program begins the 101st session is not dropped", async () => {
  const store = createMemoryStore();
  const plain = openMemoryTable(store);
  let at = Date.parse("2026-03-01T12:00:00Z");
  const ref = (table: Table, id: string) => ({ table, principalId: "p", sessionId: id, now: () => new Date(at) });
  for (let index = 0; index < 100; index++, at += 2_000)
    await saveSession(ref(plain, `s${index}`), new Map([["x", { value: index }]]));
  const use = () => saveSession(ref(plain, "s0"), new Map([["y", { value: "saved" }]]));
  const { table, hasRun } = interruptedTable(store, "SESSIONS", use);
  await saveSession(ref(table, "new"), new Map([["x", { value: 1 }]]));
  const namesIn = async (id: string) => [...(await loadSession(ref(plain, id))).variables.keys()];
  expect([hasRun(), await namesIn("s0"), await namesIn("s1")]).toEqual([true, ["x", "y"], []]);
});

test.each(["list", "item"])(
  "a session that is renewed while another program drops it keeps its variables (before the write of the %s)",
  async (written) => {
    const store = createMemoryStore();
    const plain = openMemoryTable(store);
    let at = Date.parse("2026-03-01T12:00:00Z");
    const ref = (table: Table, id: string) => ({ table, principalId: "p", sessionId: id, now: () => new Date(at) });
    for (let index = 0; index < 100; index++, at += 2_000)
      await saveSession(ref(plain, `s${index}`), new Map([["x", { value: index }]]));
    const first = everything(store).find(({ variables }) => variables === '{"x":{"value":0}}');
    const loaded = await loadSession(ref(plain, "s0"));
    const renew = () => renewSession(ref(plain, "s0"), loaded);
    const { table, hasRun } = interruptedTable(store, written === "list" ? "SESSIONS" : String(first?.SK), renew);
    await saveSession(ref(table, "new"), new Map([["x", { value: 1 }]]));
    expect([hasRun(), [...(await loadSession(ref(plain, "s0"))).variables.keys()]]).toEqual([true, ["x"]]);
  },
);

test("a session that a program has read and then ended is over, and so is a session that ends while a program reads it", async () => {
  const user = newUser();
  let at = Date.UTC(2026, 0, 1);
  const now = () => new Date(at);
  await runFor(user, "x = 1", { ...inSession, now });
  at += 2_000;
  expect((await runFor(user, "y = x\nauth.session.end()", { ...inSession, now })).status).toBe("completed");
  expect((await runFor(user, "x", { ...inSession, now })).error).toMatchObject({ code: "unknown_variable" });

  const table = openMemoryTable(createMemoryStore());
  const ref = { table, principalId: "p", sessionId: "s", now };
  await saveSession(ref, new Map([["x", { value: 1 }]]));
  const loaded = await loadSession(ref);
  at += 2_000;
  await endSession(ref);
  await renewSession(ref, loaded);
  expect([...(await loadSession(ref)).variables]).toEqual([]);
});

test("a session that ends while its renewal is saved stays over", async () => {
  const store = createMemoryStore();
  const plain = openMemoryTable(store);
  let at = Date.UTC(2026, 0, 1);
  const ref = (table: Table) => ({ table, principalId: "p", sessionId: "s", now: () => new Date(at) });
  await saveSession(ref(plain), new Map([["x", { value: 1 }]]));
  const { table, hasRun } = interruptedTable(store, "SESSION#", () => endSession(ref(plain)));
  const renew = async (used: Table) => {
    at += 3_000_000;
    await renewSession(ref(used), await loadSession(ref(plain)));
  };
  for (let renewals = 0; renewals < 28; renewals++) await renew(plain);
  // A day after the last save, the renewal writes the item again.
  await renew(table);
  expect([hasRun(), everything(store).filter(({ SK }) => SK.startsWith("SESSION#"))]).toEqual([true, []]);
});

test("a program that loaded a session just before its end saves its variables beside the loaded ones", async () => {
  const table = openMemoryTable(createMemoryStore());
  let at = Date.UTC(2026, 0, 1);
  const ref = { table, principalId: "p", sessionId: "s", now: () => new Date(at) };
  await saveSession(ref, new Map([["x", { value: 1 }]]));
  at += 3_600_000;
  const loaded = await loadSession(ref);
  at += 5_000;
  await saveSession(ref, new Map([["y", { value: 2 }]]), { loaded });
  expect([...(await loadSession(ref)).variables.keys()]).toEqual(["x", "y"]);
  at += 3_700_000;
  await saveSession(ref, new Map([["z", { value: 3 }]]));
  expect([...(await loadSession(ref)).variables.keys()]).toEqual(["z"]);
});

test("the table keeps the variables of a session that is only read, as long as the session is renewed", async () => {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  let at = Date.parse("2026-03-01T12:00:00Z");
  const ref = { table, principalId: "p", sessionId: "s", now: () => new Date(at) };
  await saveSession(ref, new Map([["x", { value: 1 }]]));
  const versions: string[] = [];
  for (let renewals = 0; renewals < 60; renewals++, at += 3_000_000) {
    const session = await renewSession(ref, await loadSession(ref));
    const item = everything(store).find(({ SK }) => SK.startsWith("SESSION#"));
    expect(Number(item?.["ttl"]) * 1_000).toBeGreaterThanOrEqual(Date.parse(session.expiresAt ?? ""));
    versions.push(String(item?.["version"]));
  }
  expect(new Set(versions).size).toBe(3);
});

test("methods can be called on variables of the session, also on a variable with the name of a family of functions", async () => {
  const user = newUser();
  await runFor(user, "x = 'A b'\ndomains = {'a': [1, 1]}", inSession);
  expect((await runFor(user, "x.lower().split()", inSession)).result.last_value).toEqual(["a", "b"]);
  expect((await runFor(user, "domains.a.count(1)", inSession)).result.last_value).toBe(2);
  expect((await runFor(user, "domains.get('b', 3)", inSession)).result.last_value).toBe(3);
  expect((await runFor(user, "domains.get('b', 3)")).error).toMatchObject({ code: "positional_argument" });
});

test("a program of another user, and a program in another session, does not have the variables", async () => {
  const user = newUser();
  await runFor(user, "token = 'mine'", inSession);
  for (const [who, id] of [
    [newUser(), sessionId],
    [user, "session-2"],
  ] as const) {
    const { error } = await runFor(who, "token", { sessionId: id });
    expect(error).toMatchObject({ code: "unknown_variable", line: 1, column: 1 });
  }
  expect((await runFor(user, "token")).error).toMatchObject({ code: "unknown_variable" });
  expect((await runFor(user, "tokens", inSession)).error?.message).toContain("Did you mean token?");
});

test("a session ends an hour after its last use, to the second, even if the table still has it", async () => {
  const user = newUser();
  let at = Date.UTC(2026, 0, 1);
  const now = () => new Date(at);
  await runFor(user, "x = 1", { ...inSession, now });
  for (const laterMs of [3_599_999, 999, 3_599_999, 240_000, 3_599_999]) {
    at += laterMs;
    expect((await runFor(user, "x", { ...inSession, now })).result.last_value).toBe(1);
  }
  at += 3_601_000;
  expect((await runFor(user, "x", { ...inSession, now })).error).toMatchObject({ code: "unknown_variable" });
});

test("a failed program keeps the variables that it assigned before the failure, and no later ones", async () => {
  const user = newUser();
  const missing = randomUUID();
  const { status } = await runFor(user, `a = 1\nb = accounts.get(account_id="${missing}")\nc = me.get()`, inSession);
  expect(status).toBe("failed");
  expect((await runFor(user, "a", inSession)).result.last_value).toBe(1);
  for (const name of ["b", "c"]) {
    expect((await runFor(user, name, inSession)).error).toMatchObject({ code: "unknown_variable" });
  }
});

test("a program with a mistake, and a dry run, keep no variables", async () => {
  const user = newUser();
  await runFor(user, "x = 1\nme.gt()", inSession);
  await runFor(user, "x = 1\nme.get()", { ...inSession, dryRun: true });
  expect((await runFor(user, "x", inSession)).error).toMatchObject({ code: "unknown_variable" });
});

test("programs that run at the same time do not lose each other's variables", async () => {
  const user = newUser();
  const names = Array.from({ length: 8 }, (_, index) => `v${index}`);
  const answers = await Promise.all(
    names.map((name) => runFor(user, `${name} = "${name}"\nshared = "${name}"`, inSession)),
  );
  expect(answers.every((answer) => !answer.session)).toBe(true);
  const { result } = await runFor(user, `[${names.join(", ")}, shared]`, inSession);
  const values = result.last_value as string[];
  expect(values.slice(0, 8)).toEqual(names);
  expect(names).toContain(values[8]);
});

test("a value that may hold a secret is returned, but not kept, and the error of a later use says why it is missing", async () => {
  const { id, owner } = await newAccount();
  const program = [
    `made = auth.service_accounts.create(account_id="${id}", name="Bot")`,
    "copy = [made.token]",
    "me = me.get()",
    "mixed = {'who': me.id, 'text': f'{copy[0]}!'}",
    "made.token",
  ].join("\n");
  const { result, session, status } = await runFor(owner, program, inSession);
  expect(status).toBe("completed");
  expect(session?.not_kept.map(({ name, code }) => `${name} ${code}`)).toEqual([
    "made secret",
    "copy secret",
    "mixed secret",
  ]);
  const stored = JSON.stringify(await testTable().between(`PRINCIPAL#${owner.id}`, "!", "~"));
  expect(stored).toContain(owner.id);
  expect(stored).not.toContain(result.last_value);
  const later = await runFor(owner, "mixed", inSession);
  expect(later.error).toMatchObject({
    code: "unknown_variable",
    message: expect.stringContaining("may hold a secret"),
  });
  await runFor(owner, "made = 'plain'", inSession);
  expect((await runFor(owner, "made", inSession)).result.last_value).toBe("plain");
});

test("an answer without a secret is kept, although the function can return a secret", async () => {
  const { id, owner } = await newAccount();
  const made = `credentials.add(account_id="${id}", name="Printer", `;
  const { session, status } = await runFor(
    owner,
    `own = ${made}value="Correct-Horse-9-Staple")\nours = ${made}generate=true)\nboth = [own.id, ours.id]`,
    inSession,
  );
  expect(status).toBe("completed");
  expect(session?.not_kept.map(({ name, code }) => `${name} ${code}`)).toEqual(["ours secret", "both secret"]);
  expect((await runFor(owner, "own.name", inSession)).result.last_value).toBe("Printer");
});

test("a session keeps 262,144 bytes: a variable without room is reported, the effects stay, and the old value is gone", async () => {
  const user = newUser();
  const text = "a".repeat(50_000);
  await runFor(user, "x = 'old'\nother = 1", inSession);
  const program = `x = "${text}"\nx = x + x + x + x + x + x\nsmall = 2\nme.get()`;
  const { status, session } = await runFor(user, program, inSession);
  expect(status).toBe("completed");
  expect(session).toEqual({
    not_kept: [{ name: "x", code: "session_too_large", message: expect.stringContaining(String(sessionLimitBytes)) }],
  });
  expect((await runFor(user, "[other, small]", inSession)).result.last_value).toEqual([1, 2]);
  expect((await runFor(user, "x", inSession)).error?.message).toContain("does not fit into the session");
});

test("15,000 names cannot fill much more than the size limit of a session", async () => {
  const user = newUser();
  for (const start of [0, 5_000, 10_000]) {
    const lines = Array.from({ length: 5_000 }, (_, index) => `v${start + index}=""`);
    expect((await runFor(user, lines.join("\n"), inSession)).status).toBe("completed");
  }
  const [item] = await testTable().between(`PRINCIPAL#${user.id}`, "SESSION#", "SESSION#~");
  expect(Buffer.byteLength(String(item?.["variables"]))).toBeLessThan(sessionLimitBytes + 40_000);
});

test("4,000 variables with the same large value are not kept, and a small variable after them is", async () => {
  const user = newUser();
  const names = Array.from({ length: 4_000 }, (_, index) => `v${index} = x`).join("\n");
  const program = `y = "${"a".repeat(20_000)}"\nx = [${"y,".repeat(100)}]\n${names}\nlast = 1`;
  const { status, session } = await runFor(user, program, inSession);
  expect(status).toBe("completed");
  expect(session).toMatchObject({ not_kept_total: 4_001 });
  expect(session?.not_kept).toHaveLength(20);
  expect((await runFor(user, "last", inSession)).result.last_value).toBe(1);
});

test("if a session cannot be stored, the program completes, and its answer names the variables that were not kept", async () => {
  const context = codeContext(newUser());
  const table = { ...context.table, attempt: () => Promise.reject(new Error("the table is away")) };
  const answer = await execute({ code: "x = me.get()", requestId: "r", sessionId }, { ...context, table });
  expect(answer).toMatchObject({ status: "completed", session: { not_kept: [{ name: "x", code: "not_stored" }] } });
});

test("auth.session.get shows the variables of earlier programs, end deletes them, authenticate begins a session", async () => {
  const user = newUser();
  const none = await runFor(user, "auth.session.get()", inSession);
  const principal = { type: "user", id: user.id, email: `${user.id}@example.com` };
  const empty = { session_id: sessionId, principal, variables: [] };
  expect(none.result.last_value).toEqual({ ...empty, created_at: null, last_used_at: null, expires_at: null });
  const begun = await runFor(user, "auth.session.authenticate()", inSession);
  expect(begun.result.last_value).toMatchObject({ ...empty, created_at: expect.stringContaining("T") });
  await runFor(user, "x = 'abc'\ny = [1]", inSession);
  const { result } = await runFor(user, "auth.session.get().variables", inSession);
  expect(result.last_value).toEqual([
    { name: "x", type: "string", bytes: 21 },
    { name: "y", type: "list", bytes: 19 },
  ]);
  const ended = await runFor(user, "a = 1\nauth.session.end()\nb = [x, 2]", inSession);
  expect(ended).toMatchObject({ status: "completed", result: { last_value: {} } });
  const after = await runFor(user, "[v.name for v in auth.session.get().variables]", inSession);
  expect(after.result.last_value).toEqual(["b"]);
});

test("a call of auth.session.end that is not made keeps the variables of the program", async () => {
  const user = newUser();
  await runFor(user, "x = 1\na = [2]\nlen(a) == 0 and auth.session.end()", inSession);
  expect((await runFor(user, "[x, a]", inSession)).result.last_value).toEqual([1, [2]]);
});

test("a program that ends its session and then fails keeps no earlier variables, and its error does not say that it kept them", async () => {
  const account = await newAccount();
  const add = (name: string) => `workspaces.add(account_id="${account.id}", name="${name}")`;
  await runFor(account.owner, add("Taken"));
  const inOneStep = `w = ${add("A")}\n[auth.session.end(), ${add("Taken")}]`;
  const inTwoSteps = `w = ${add("B")}\nauth.session.end()\n${add("Taken")}`;
  for (const code of [inOneStep, inTwoSteps]) {
    const { error } = await runFor(account.owner, code, inSession);
    expect(error).toMatchObject({ code: "workspace_name_taken", message: expect.stringContaining("earlier call") });
    expect(error?.message).not.toContain("kept in session");
    expect((await runFor(account.owner, "w", inSession)).error).toMatchObject({ code: "unknown_variable" });
  }
});

test("without a session_id, the functions of sessions are refused before anything runs", async () => {
  const { error, responses } = await runFor(newUser(), "me.get()\nauth.session.get()");
  expect(responses).toEqual([]);
  expect(error).toMatchObject({ code: "no_session", line: 2, message: expect.stringContaining("session_id") });
});
