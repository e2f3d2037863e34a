import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test, vi } from "vitest";

import { createLog } from "../../shared/core/log.ts";
import { charge, limitsKey, newLimiterMemory } from "../../shared/rate-limits/limiter.ts";
import { reserve } from "../../shared/rate-limits/reservation.ts";
import { afterReading } from "../support/between.ts";
import { runFor } from "../support/code-door.ts";
import { request } from "../support/request.ts";
import { newAccount, newUser, testTable } from "../support/world.ts";

const log = createLog("silent", {});
const start = Date.now();
const at = (ms: number, memory = newLimiterMemory()) => ({
  table: testTable(),
  memory,
  log,
  now: () => new Date(start + ms),
});
const passes = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    (error: { code?: string }) => {
      if (error.code !== "rate_limited") throw error;
      return false;
    },
  );
const newCaller = () => {
  const principalId = randomUUID();
  return (cost = 1) => ({ principalId, class: "default" as const, cost });
};

test("1a: the answer of a dry run has a bounded size", async () => {
  const { id, owner } = await newAccount();
  const code = [
    `w = workspaces.add(account_id="${id}", name="A")`,
    `xs = [w.id] * 1000`,
    `ys = [xs] * 300`,
    `[auth.groups.create(account_id="${id}", payload={"account_id": "${id}", "name": "G", "attributes": {"of": ys}}) for i in range(2)]`,
  ].join("\n");
  const answer = await runFor(owner, code, { dryRun: true });
  expect(JSON.stringify(answer).length).toBeLessThan(6_000_000);
});

test("1b: what a dry run does with partly unknown values is work too", async () => {
  const { id, owner } = await newAccount();
  const code = [
    `w = workspaces.add(account_id="${id}", name="A")`,
    `xs = [0] * 1000`,
    `ys = [xs] * 400 + [w.id]`,
    // Up to about 39,000 rounds fit into the steps: five minutes.
    `[f"{ys}" for i in range(400)]`,
  ].join("\n");
  const began = performance.now();
  await runFor(owner, code, { dryRun: true });
  expect(performance.now() - began).toBeLessThan(500);
});

test("2: many reservations of dead programs are removed, and the limit still holds", async () => {
  const what = newCaller();
  let ms = 0;
  for (let count = 0; count < 250; ms += 1_100) if (await passes(reserve(what(11), at(ms)))) count += 1;
  ms += 40_000;
  const memory = newLimiterMemory();
  let programs = 0;
  for (let index = 0; index < 5; index += 1) {
    const began = await passes(reserve(what(999), at(ms, memory)).then(({ settle }) => settle(999)));
    programs += Number(began);
  }
  expect(programs).toBeLessThanOrEqual(1);
});

test("3: requests of several processes beside a long program use no more than themselves", async () => {
  // The processes do not always meet, so several callers try.
  for (let round = 0; round < 8; round += 1) {
    const what = newCaller();
    await reserve(what(900), at(0));
    const memories = Array.from({ length: 4 }, () => newLimiterMemory());
    const first = memories.map((memory) => passes(charge(what(), at(15_000, memory))));
    expect(await Promise.all(first)).toEqual([true, true, true, true]);
    const memory = newLimiterMemory();
    let passed = 0;
    for (let index = 0; index < 20; index += 1) passed += Number(await passes(charge(what(), at(17_000, memory))));
    expect(passed).toBe(20);
  }
});

test("4: a stranger's programs do not use the own limit of an account", async () => {
  const { id } = await newAccount();
  const classes = { default: { perMinute: 60_000, burst: 20_000 } };
  await testTable().commit(async () => ({ value: 0, writes: [{ put: { ...limitsKey(id), classes } }] }));
  const stranger = newUser();
  const code = `${"me.get()\n".repeat(199)}workspaces.list(account_id="${id}")`;
  let calls = 0;
  let policy: string | undefined;
  for (let index = 0; index < 8; index += 1) {
    const { body, headers } = await request("POST", "/v1/public/a2a", {
      token: stranger.token,
      body: { request_id: randomUUID(), session_id: randomUUID(), code },
    });
    policy = headers["ratelimit-policy"];
    calls += (body.responses ?? []).filter((one: { status: string }) => one.status === "completed").length;
  }
  expect(policy).toBe('"default";q=100;w=10');
  expect(calls).toBeLessThan(500);
});

test("5: what dying programs used is charged", async () => {
  const what = newCaller();
  const memory = newLimiterMemory();
  let used = 0;
  for (let ms = 0; ms < 600_000; ms += 1_000) {
    // The process dies after the program's last call.
    if (await passes(reserve(what(999), at(ms, memory)))) used += 999;
    for (let index = 0; index < 9; index += 1) used += Number(await passes(charge(what(), at(ms, memory))));
  }
  expect(used).toBeLessThanOrEqual(100 + 6_000 + 1_000);
});

test("6: a cancelled program whose answer is not stored does not run again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { id, owner } = await newAccount();
  const code = [
    `webhooks.list(account_id="${id}").total`,
    `tags.list(account_id="${id}").total`,
    `workspaces.add(account_id="${id}", name="B")`,
  ].join("\n");
  const send = (requestId: number) =>
    request("POST", "/v1/public/mcp", {
      token: owner.token,
      body: {
        jsonrpc: "2.0",
        id: requestId,
        method: "tools/call",
        params: { name: "service_execute", arguments: { code, request_id: "task" } },
      },
    });
  const envelopeOf = ({ body }: { body: { result: { content: { text: string }[] } } }) =>
    JSON.parse(body.result.content[0]?.text ?? "");
  const cancelled = await afterReading(
    ({ SK }) => SK === "LIST#tags#HEAD",
    async () => {
      vi.setSystemTime(Date.now() + 1_500);
      const params = { requestId: 7 };
      await request("POST", "/v1/public/mcp", {
        token: owner.token,
        body: { jsonrpc: "2.0", method: "notifications/cancelled", params },
      });
    },
    () => send(7),
  );
  expect(envelopeOf(cancelled).error.code).toBe("cancelled");
  await send(8);
  const { body } = await request("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token });
  expect(body.items.map(({ name }: { name: string }) => name)).not.toContain("B");
});
