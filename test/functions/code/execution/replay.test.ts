import { randomBytes, randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { executeIdempotently, compressText, restoreText } from "../../../../functions/code/execution/replay.ts";
import { changeJournalOf } from "../../../../shared/changes/record.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import { runtime } from "../../../../shared/http/runtime.ts";
import { readEntries } from "../../../../shared/table/journal.ts";
import { openTable } from "../../../../shared/table/table.ts";
import { codeContext } from "../../../support/code-context.ts";
import { withFault } from "../../../support/faults.ts";
import { request, type Answer } from "../../../support/request.ts";
import { newAccount, newMember, testTable, type Account, type User } from "../../../support/world.ts";

const minute = 60_000;

const send = (account: Account, code: string, more: object = {}, user: Pick<User, "token"> = account.owner) =>
  request("POST", "/v1/public/a2a", {
    token: user.token,
    body: { request_id: "r", session_id: "s", code, ...more },
  });
const adding = ({ id }: Account, ...names: string[]): string =>
  names.map((name) => `workspaces.add(account_id="${id}", name="${name}")`).join("\n");
const workspaces = ({ id, owner }: Account): Promise<Answer> =>
  request("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token });
const namesIn = async (account: Account): Promise<string[]> =>
  (await workspaces(account)).body.items.map(({ name }: { name: string }) => name);

/** A context whose table can fail. */
const faultyContext = (user: Pick<User, "id">, now?: () => Date): InvocationContext => {
  const { client, env } = runtime();
  return { ...codeContext(user, now), table: openTable(client, env.TABLE_NAME) };
};

const recordsOf = ({ owner }: Account) => testTable().between(`PRINCIPAL#${owner.id}`, "!", "~");
const kept = async (account: Account) =>
  (await recordsOf(account)).filter(({ SK }) => SK.startsWith("IDEMPOTENCY#code.request#"));

async function changes({ id }: Account): Promise<unknown[]> {
  const keep = (row: Record<string, unknown>) => row["resource_type"] === "workspace";
  const { rows } = await readEntries(testTable(), changeJournalOf(id), { skip: 0, take: 1_000, keep }, new Date());
  return rows.map((row) => row["action"]).toReversed();
}

describe("a program that is sent again with its request_id", () => {
  test("gets the same bytes, and does nothing twice", async () => {
    const account = await newAccount();
    const code = `${adding(account, "Sales")}\nworkspaces.list(account_id="${account.id}")`;
    const first = await send(account, code);
    expect([first.body.status, first.headers["idempotency-replayed"]]).toEqual(["completed", undefined]);
    await send(account, adding(account, "Later"));
    const again = await send(account, code);
    expect([again.text, again.headers["idempotency-replayed"]]).toEqual([first.text, "true"]);
    expect(await namesIn(account)).toEqual(["Sales", "Later"]);
  });

  test("is a new request if the program, the session, the request_id or the caller is another", async () => {
    const account = await newAccount();
    const member = await newMember(account, { role: "manager" });
    const code = `x = len(workspaces.list(account_id="${account.id}").items)\nx`;
    const first = await send(account, code);
    const others = [
      await send(account, `${code}\n`),
      await send(account, code, { session_id: "other" }),
      await send(account, code, { request_id: "other" }),
      await send(account, code, {}, member),
    ];
    expect(first.body.status).toBe("completed");
    expect(others.map(({ headers }) => headers["idempotency-replayed"])).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("has one effect, however many requests arrive at once", { timeout: 30_000 }, async () => {
    const account = await newAccount();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(account, adding(account, "Sales"))));
    expect(await changes(account)).toEqual(["workspaces.add"]);
    const done = answers.filter(({ status }) => status === 200);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    for (const { body, headers } of answers.filter(({ status }) => status !== 200)) {
      expect([body.status, body.code, headers["retry-after"]]).toEqual([409, "idempotency_in_flight", "1"]);
    }
  });

  test("makes, after a failure, only the calls that have not succeeded yet", async () => {
    const account = await newAccount();
    await send(account, adding(account, "Support"), { request_id: "other" });
    const [other] = (await workspaces(account)).body.items;
    const code = adding(account, "Sales", "Support", "Legal");
    expect((await send(account, code)).body).toMatchObject({
      status: "failed",
      error: { code: "workspace_name_taken" },
    });
    const path = `/v1/public/accounts/${account.id}/workspaces/${other.id}`;
    await request("DELETE", path, { token: account.owner.token });
    expect((await send(account, code)).body.status).toBe("completed");
    expect(await namesIn(account)).toEqual(["Sales", "Support", "Legal"]);
  });

  test("runs again after an hour, and its writes return the same answers and are not made again", async () => {
    const account = await newAccount();
    const run = { requestId: "r", code: adding(account, "Sales") };
    const at = (ms: number) =>
      executeIdempotently(
        run,
        codeContext(account.owner, () => new Date(Date.now() + ms)),
      );
    const first = await at(0);
    expect(await at(59 * minute)).toEqual({ ...first, replayed: true });
    expect(await at(61 * minute)).toEqual({ ...first, replayed: false });
    expect(await changes(account)).toEqual(["workspaces.add"]);
  });

  test("runs again if its answer had a secret, because such an answer is not stored; the call with the secret is refused", async () => {
    const account = await newAccount();
    const code = `${adding(account, "Sales")}\nauth.service_accounts.create(account_id="${account.id}", name="Backup")`;
    const first = await send(account, code);
    const { token } = first.body.result.last_value;
    expect(token).toMatch(/^sat_/);
    expect(await kept(account)).toEqual([]);
    expect(JSON.stringify(await recordsOf(account))).not.toContain(token);
    const again = await send(account, code);
    expect(again.body).toMatchObject({ status: "failed", error: { code: "secret_already_shown", line: 2 } });
    expect(again.body.responses[0]).toEqual(first.body.responses[0]);
  });

  test("gets the same answer if no secret was shown, although the function can show one", async () => {
    const account = await newAccount();
    const code = `credentials.add(account_id="${account.id}", name="Printer", value="Correct-Horse-9-Staple")`;
    const first = await send(account, code);
    expect(first.body.status).toBe("completed");
    expect(await kept(account)).toHaveLength(1);
    const again = await send(account, code);
    expect([again.text, again.headers["idempotency-replayed"]]).toEqual([first.text, "true"]);
    expect(JSON.stringify(await recordsOf(account))).not.toContain("Correct-Horse");
  });

  test("is not a repeat of a dry run, which is not stored", async () => {
    const account = await newAccount();
    const code = adding(account, "Sales");
    const dry = await send(account, code, { dry_run: true });
    expect(dry.body).toMatchObject({ status: "completed", responses: [], dry_run: { calls: [{ held: true }] } });
    expect(await namesIn(account)).toEqual([]);
    expect(await kept(account)).toEqual([]);
    expect((await send(account, code)).body.responses).toHaveLength(1);
    expect((await send(account, code, { dry_run: true })).body.responses).toEqual([]);
  });

  test("can be corrected under the same request_id", async () => {
    const account = await newAccount();
    const wrong = await send(account, `workspaces.add(account_id="${account.id}", nme="Sales")`);
    expect(wrong.body).toMatchObject({ status: "failed", error: { code: "unknown_argument" } });
    expect((await send(account, adding(account, "Sales"))).body.status).toBe("completed");
    expect(await namesIn(account)).toEqual(["Sales"]);
  });

  test("is refused a call that its caller cannot make any more, once its stored envelope has expired", async () => {
    const account = await newAccount();
    const member = await newMember(account, { capability: "workspace.manage" });
    const { body } = await request("POST", `/v1/public/accounts/${account.id}/workspaces`, {
      token: account.owner.token,
      body: { name: "Sales" },
    });
    const code = `workspaces.delete(account_id="${account.id}", workspace_id="${body.id}")`;
    const run = (ms: number) =>
      executeIdempotently(
        { code, requestId: "r" },
        codeContext(member, () => new Date(Date.now() + ms)),
      );
    const first = await run(0);
    expect(await run(120 * minute)).toEqual({ ...first, replayed: false });
    const [grant] = (
      await request("GET", `/v1/public/accounts/${account.id}/auth/authorizations?subject_id=${member.id}`, {
        token: account.owner.token,
      })
    ).body;
    await request("DELETE", `/v1/public/accounts/${account.id}/auth/authorizations/${grant.id}`, {
      token: account.owner.token,
    });
    const { envelope } = await run(240 * minute);
    expect(envelope).toMatchObject({ status: "failed", error: { code: "not_found" } });
  });
});

describe("a program that failed temporarily", () => {
  test("reads the former value of a session variable when it is sent again, so it does the same writes", async () => {
    const account = await newAccount();
    await send(account, 'todo = ["A", "B", "C"]', { request_id: "first" });
    const code = `
now = todo[0:2]
todo = todo[2:]
[workspaces.add(account_id="${account.id}", name=name) for name in now]`;
    const { value: failed } = await withFault("throttled", { transaction: 1 }, () => send(account, code));
    expect(failed.body).toMatchObject({
      status: "failed",
      error: { code: "busy", message: expect.stringContaining("Send the same program with the same request_id again") },
      session: { not_kept: [{ name: "todo", code: "not_stored", message: expect.stringContaining("former value") }] },
    });
    expect((await send(account, code)).body.status).toBe("completed");
    expect(await namesIn(account)).toEqual(["A", "B"]);
    const left = await send(account, "todo", { request_id: "last" });
    expect(left.body.result.last_value).toEqual(["C"]);
  });

  test("completes when it is sent again, once the claim of a dead process on a write has ended", async () => {
    const account = await newAccount();
    await send(account, 'todo = ["A", "B"]', { request_id: "first" });
    const code = `
now = todo
todo = []
a = workspaces.add(account_id="${account.id}", name=now[0])
workspaces.add(account_id="${account.id}", name=now[1])`;
    const start = Date.now();
    let ms = 0;
    // A claim lasts 30 seconds. The second write begins 15 seconds after the first, so its claim ends 15 seconds later.
    const follower = { isCancelled: async () => false, progressed: () => void (ms = Math.max(ms, 15_000)) };
    const run = async () =>
      (
        await executeIdempotently(
          { code, requestId: "r", sessionId: "s", follower },
          faultyContext(account.owner, () => new Date(start + ms)),
        )
      ).envelope;
    await withFault("death", { transaction: 1 }, () => run().catch(() => undefined));
    expect(ms).toBe(15_000);
    ms = 31_000;
    expect(await run()).toMatchObject({
      status: "failed",
      error: {
        code: "idempotency_in_flight",
        message: expect.stringContaining("Send the same program with the same request_id again"),
      },
      session: { not_kept: [{ name: "todo", code: "not_stored" }] },
    });
    ms = 46_000;
    expect(await run()).toMatchObject({ status: "completed" });
    expect(await namesIn(account)).toEqual(["A", "B"]);
  });
});

/** A program that adds, changes and deletes, so its writes would fail or show if they were made twice. */
const busyProgram = ({ id }: Account): string => `
a = workspaces.add(account_id="${id}", name="A")
b = workspaces.update(account_id="${id}", workspace_id=a.id, name="B")
c = [workspaces.add(account_id="${id}", name=f"{b.name}{i}") for i in range(2)]
workspaces.delete(account_id="${id}", workspace_id=a.id)
workspaces.list(account_id="${id}")`;
const allOnce = ["add", "update", "add", "add", "delete"].map((verb) => `workspaces.${verb}`);

describe("if a process dies while it runs a program, or before or after it stores the envelope,", () => {
  test("the same request completes the rest, and each write is made once", { timeout: 60_000 }, async () => {
    const whole = await newAccount();
    // A run without a fault lists the calls of the table.
    const { calls } = await withFault(undefined, -1, () => runIn(whole, 0));
    expect(calls.length).toBeGreaterThan(15);
    // Four workers take the places of the calls from one iterator.
    const places = calls.keys();
    const worker = async () => {
      for (const at of places) await dieAt(at);
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  });

  const runIn = (account: Account, ms: number) =>
    executeIdempotently(
      { code: busyProgram(account), requestId: "r", sessionId: "s" },
      faultyContext(account.owner, () => new Date(Date.now() + ms)),
    );

  async function dieAt(at: number): Promise<void> {
    const account = await newAccount();
    await withFault("death", at, () => runIn(account, 0).catch(() => undefined));
    const { envelope } = await runIn(account, minute);
    expect(envelope, `died at call ${at}`).toMatchObject({ status: "completed" });
    expect(envelope.result.last_value, `died at call ${at}`).toMatchObject({ items: [{ name: "B0" }, { name: "B1" }] });
    expect(await changes(account), `died at call ${at}`).toEqual(allOnce);
    expect((await runIn(account, minute)).replayed).toBe(true);
  }
});

describe("a stored envelope", () => {
  const account_id = randomUUID();
  const made_at = (index: number) => new Date(1_700_000_000_000 + index * 86_413_577).toISOString();
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      id: randomUUID(),
      account_id,
      name: `Workspace ${index}`,
      status: "active",
      created_at: made_at(index),
      updated_at: made_at(index + 7),
    }));

  test("of 1 MiB fits into an item of the table, and is read back unchanged", async () => {
    const text = JSON.stringify(rows(5_500)).slice(0, 1_048_576);
    expect(text).toHaveLength(1_048_576);
    const packed = await compressText(text);
    expect(JSON.stringify(packed).length).toBeLessThan(390_000);
    expect(await restoreText(packed)).toBe(text);
  });

  test.each(["", "short", "ä€𝄞\u0000".repeat(200)])("is read back unchanged (%#)", async (text) => {
    expect(await restoreText(await compressText(text))).toBe(text);
  });

  test("that cannot be made small enough is not stored", async () => {
    expect(await compressText(randomBytes(400_000).toString("base64"))).toBeUndefined();
  });
});
