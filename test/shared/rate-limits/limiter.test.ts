import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";

import { createLog } from "../../../shared/core/log.ts";
import { limitClasses, type LimitClass } from "../../../shared/rate-limits/classes.ts";
import {
  charge,
  limitsKey,
  newLimiterMemory,
  rateHeaders,
  rateKey,
  type LimiterMemory,
} from "../../../shared/rate-limits/limiter.ts";
import { setOwnLimit } from "../../../shared/rate-limits/own-limits.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";
import { request } from "../../support/request.ts";
import { newAccount, newServiceAccount, newUser, testTable, type User } from "../../support/world.ts";

const log = createLog("silent", {});
const noUsage = () => ({ readUnits: 0, writeUnits: 0, calls: 0 });
const { perMinute, burst } = limitClasses.default;

type Setting = {
  memory?: LimiterMemory;
  at?: number;
  cost?: number;
  class?: LimitClass;
  table?: Table;
  accountId?: string;
};

/** A caller with a new principal. A `memory` stands for a process that serves the caller. */
function newCaller() {
  const principalId = randomUUID();
  return (setting: Setting = {}) => {
    const { memory = newLimiterMemory(), at = Date.now(), cost = 1, table = testTable() } = setting;
    const what = { principalId, class: setting.class ?? "default", cost, accountId: setting.accountId };
    return charge(what, { table, memory, log, now: () => new Date(at) });
  };
}

const passes = (attempt: Promise<unknown>): Promise<boolean> =>
  attempt.then(
    () => true,
    (error: { code?: string }) => {
      expect(error.code).toBe("rate_limited");
      return false;
    },
  );

async function passed(attempts: readonly Promise<unknown>[]): Promise<number> {
  return (await Promise.all(attempts.map(passes))).filter(Boolean).length;
}

test("a process accepts exactly the burst at one moment, even if more requests come at once", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  expect(await passed(Array.from({ length: 250 }, () => ask({ memory, at })))).toBe(burst);
  expect(await passed([ask({ memory, at })])).toBe(0);
});

test("after a pause a process accepts as many requests as the rate gives, and never more than the burst", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  const ones = (count: number, later: number) =>
    passed(Array.from({ length: count }, () => ask({ memory, at: at + later })));
  expect(await ones(burst, 0)).toBe(burst);
  expect(await ones(50, 2_000)).toBe((perMinute / 60) * 2);
  expect(await ones(300, 3_600_000)).toBe(burst);
});

test("many processes together accept at most the burst and one more request for each process", async () => {
  const [ask, at, processes] = [newCaller(), Date.now(), 8];
  const memories = Array.from({ length: processes }, newLimiterMemory);
  let total = 0;
  for (let round = 0; round < 40; round++) total += await passed(memories.map((memory) => ask({ memory, at })));
  expect(total).toBeGreaterThanOrEqual(burst - processes * Math.floor(burst / 10));
  expect(total).toBeLessThanOrEqual(burst + processes);
});

test("in any span of time, no more requests are accepted than burst and rate allow", async () => {
  const arrival = fc.record({ afterMs: fc.integer({ min: 0, max: 3_000 }), count: fc.integer({ min: 1, max: 40 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 12 }), async (arrivals) => {
      const [ask, memory] = [newCaller(), newLimiterMemory()];
      const through: { at: number; count: number }[] = [];
      let at = Date.now();
      for (const { afterMs, count } of arrivals) {
        at += afterMs;
        through.push({ at, count: await passed(Array.from({ length: count }, () => ask({ memory, at }))) });
      }
      for (const [index, { at: from }] of through.entries()) {
        for (const [more, { at: to }] of through.slice(index).entries()) {
          const within = through.slice(index, index + more + 1).reduce((sum, { count }) => sum + count, 0);
          // A request that was charged in advance counts at its charge, at most 5 seconds before its use.
          expect(within).toBeLessThanOrEqual(burst + ((to - from + 5_000) * perMinute) / 60_000 + 1e-6);
        }
      }
    }),
    { numRuns: 25 },
  );
});

test("a caller far below the limit costs few writes, and a caller over the limit costs none", async () => {
  const [ask, memory, at, usage] = [newCaller(), newLimiterMemory(), Date.now(), noUsage()];
  const table = testTable(usage);
  for (let index = 0; index < 22; index++) await ask({ memory, at, table });
  expect(usage).toEqual({ readUnits: 0, writeUnits: 2, calls: 2 });
  await passed(Array.from({ length: 200 }, () => ask({ memory, at, table })));
  const { calls } = usage;
  expect(await passed(Array.from({ length: 50 }, () => ask({ memory, at, table })))).toBe(0);
  expect(usage.calls).toBe(calls);
});

test("a large cost needs room for all of it, and a cost above the burst needs an empty bucket", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  expect(await passed([ask({ memory, at, cost: 90 })])).toBe(1);
  expect(await passed([ask({ memory, at, cost: 20 })])).toBe(0);
  const large = newCaller();
  expect(await passed([large({ memory, at, cost: 500 })])).toBe(1);
  expect(await passed([large({ memory, at: at + 39_000 })])).toBe(0);
  expect(await passed([large({ memory, at: at + 41_000 })])).toBe(1);
});

test("a caller can send cheap requests after a refused expensive request, and a repeat of the refused request costs no call of the table", async () => {
  const [ask, memory, at, usage] = [newCaller(), newLimiterMemory(), Date.now(), noUsage()];
  const table = testTable(usage);
  await ask({ memory, at, table });
  await expect(ask({ memory, at, table, cost: 240 })).rejects.toMatchObject({
    message: "This request counts as 240 requests of the class default, and 99 of 100 are left. Try again in 1 s.",
    extras: { retry_after: 1, cost: 240, remaining: 99 },
  });
  const { calls } = usage;
  expect(await passed([ask({ memory, at, table, cost: 240 })])).toBe(0);
  expect(usage.calls).toBe(calls);
  expect(await passed(Array.from({ length: 99 }, () => ask({ memory, at, table })))).toBe(99);
  expect(await passed([ask({ memory, at, table })])).toBe(0);
  expect(await passed([ask({ memory, at: at + 10_000, table, cost: 240 })])).toBe(1);
});

test("the error of a refused request says why, and for an expensive request names its cost", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  await ask({ memory, at, cost: 100 });
  await expect(ask({ memory, at })).rejects.toThrow("Too many requests of the class default. Try again in 1 s.");
  await expect(ask({ memory, at, cost: 2 })).rejects.toThrow(
    "This request counts as 2 requests of the class default, and 0 of",
  );
});

test("a refused request is accepted after the wait that its error gives, whatever its cost", async () => {
  const arrival = fc.record({ afterMs: fc.integer({ min: 0, max: 9_000 }), cost: fc.integer({ min: 1, max: 150 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { minLength: 1, maxLength: 12 }), async (arrivals) => {
      const [ask, memory] = [newCaller(), newLimiterMemory()];
      let at = Date.now();
      for (const { afterMs, cost } of arrivals) {
        at += afterMs;
        const told = await ask({ memory, at, cost }).then(
          () => 0,
          ({ extras }: { extras: { retry_after: number } }) => extras.retry_after,
        );
        if (told === 0) continue;
        at += told * 1_000;
        expect(await passed([ask({ memory, at, cost })])).toBe(1);
      }
    }),
    { numRuns: 25 },
  );
});

test("if the table has lost a bucket, the process still knows how full the bucket is, and other processes begin with an empty bucket", async () => {
  const [store, at] = [createMemoryStore(), Date.now()];
  const table = openMemoryTable(store);
  const [ask, memory] = [newCaller(), newLimiterMemory()];
  expect(await passed([ask({ memory, at, table, cost: 50 })])).toBe(1);
  store.partitions.clear();
  expect(await passed(Array.from({ length: 12 }, () => ask({ memory, at, table, cost: 10 })))).toBe(5);
  expect(await passed([ask({ memory, at, table })])).toBe(0);
  expect(await passed([ask({ at, table, cost: 100 })])).toBe(1);
});

test("classes and principals do not share a bucket", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  const { burst: outbound } = limitClasses.outbound;
  expect(await passed(Array.from({ length: 30 }, () => ask({ memory, at, class: "outbound" })))).toBe(outbound);
  expect(await passed([ask({ memory, at }), newCaller()({ memory, at, class: "outbound" })])).toBe(2);
});

test("an account's own limit applies only to requests in this account", async () => {
  const [ask, memory, at, accountId] = [newCaller(), newLimiterMemory(), Date.now(), randomUUID()];
  const limits = { classes: { default: { perMinute: 60, burst: 5 } } };
  await testTable().commit(async () => ({ value: 0, writes: [{ put: { ...limitsKey(accountId), ...limits } }] }));
  const many = (setting: Setting) => passed(Array.from({ length: 20 }, () => ask({ memory, at, ...setting })));
  expect(await many({ accountId })).toBe(5);
  expect(await many({})).toBe(20);
  expect(await many({ accountId: randomUUID() })).toBe(20);
});

test("the first request of a process in an account with an own limit is charged to the usual limit", async () => {
  const [ask, memory, at, accountId] = [newCaller(), newLimiterMemory(), Date.now(), randomUUID()];
  const limits = { classes: { default: { perMinute: 60, burst: 5 } } };
  await testTable().commit(async () => ({ value: 0, writes: [{ put: { ...limitsKey(accountId), ...limits } }] }));
  await ask({ memory, at, accountId });
  const there = newLimiterMemory();
  expect(await passed(Array.from({ length: 120 }, () => ask({ memory: there, at })))).toBe(burst - 1);
  expect(await passed(Array.from({ length: 120 }, () => ask({ memory, at, accountId })))).toBe(4);
});

test("if the table fails, open classes accept requests and closed classes do not", async () => {
  const gone = openTable(new TableClient({ endpoint: "http://127.0.0.1:1" }), "gone", noUsage());
  const ask = newCaller();
  await expect(ask({ table: gone })).resolves.toEqual({
    class: "default",
    limit: limitClasses.default,
    remaining: burst,
    resetSeconds: 0,
  });
  await expect(ask({ table: gone, class: "sensitive" })).rejects.toMatchObject({ code: "upstream_unavailable" });
});

test("the headers have the quota, its window, the remaining requests, and the time until the quota is full again", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  const state = await ask({ memory, at });
  expect(state && rateHeaders(state)).toEqual({
    "ratelimit-policy": '"default";q=100;w=10',
    ratelimit: '"default";r=99;t=1',
  });
});

test("leased requests are spent only once, even by concurrent requests", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  await ask({ memory, at });
  const asked = [60, ...Array.from({ length: 100 }, () => 1)];
  const answers = await Promise.allSettled(asked.map((cost) => ask({ memory, at, cost })));
  const accepted = asked.filter((_, place) => answers[place]?.status === "fulfilled");
  // The first request cost 1.
  const spent = accepted.reduce((sum, cost) => sum + cost, 1);
  expect(spent).toBeGreaterThan(60);
  expect(spent).toBeLessThanOrEqual(burst);
});

test("after a cost above the burst, the headers show a time that is longer than the window", async () => {
  const [ask, memory, at] = [newCaller(), newLimiterMemory(), Date.now()];
  const state = await ask({ memory, at, cost: 240 });
  expect(state && rateHeaders(state)["ratelimit"]).toBe('"default";r=0;t=24');
  const refused: unknown = await ask({ memory, at: at + 4_000 }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ state: { remaining: 0, resetSeconds: 20 }, extras: { retry_after: 11 } });
});

test("a caller with too many requests gets 429 by REST for any request, and other callers do not", async () => {
  const { owner, id } = await newAccount();
  // The clock stands still, so that the limit does not recover while the test runs.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const send = (target: string) => request("GET", target, { token: owner.token });
  const answers = await Promise.all(Array.from({ length: burst + 60 }, () => send("/v1/public/me")));
  const refused = answers.filter(({ status }) => status === 429);
  const accepted = answers.filter(({ status }) => status === 200);
  expect(refused.length + accepted.length).toBe(burst + 60);
  // On a busy machine the table may answer too late. The same charge is then written twice, so fewer requests fit.
  expect(accepted.length).toBeLessThanOrEqual(burst);
  expect(accepted.length).toBeGreaterThan(burst / 2);
  expect(refused[0]?.body).toMatchObject({ code: "rate_limited", limit_class: "default" });
  expect(Number(refused[0]?.headers["retry-after"])).toBeGreaterThan(0);
  expect(refused[0]?.headers["ratelimit"]).toMatch(/^"default";r=0;t=\d+$/);
  // A wrong request is limited too.
  expect((await send(`/v1/public/accounts/${id}/workspaces?page=0`)).status).toBe(429);
  expect((await request("GET", "/v1/public/me", { token: newUser().token })).status).toBe(200);
});

test("a service account has a limit of its own, and every answer shows its state in the headers", async () => {
  const program = await newServiceAccount(await newAccount(), { role: "viewer" });
  const { headers } = await request("GET", "/v1/public/me", { token: program.token });
  expect(headers["ratelimit-policy"]).toBe('"default";q=100;w=10');
  const failed = await request("GET", `/v1/public/accounts/${randomUUID()}`, { token: program.token });
  expect([failed.status, failed.headers["ratelimit"]]).toEqual([404, expect.stringMatching(/^"default";r=\d+;t=\d+$/)]);
});

test("a program is charged its score before it runs", async () => {
  const { id, owner } = await newAccount();
  const code = Array.from({ length: 40 }, () => `workspaces.list(account_id="${id}", page_size=100)`).join("\n");
  const run = () =>
    request("POST", "/v1/public/a2a", {
      token: owner.token,
      body: { request_id: randomUUID(), session_id: "s", code },
    });
  const first = await run();
  expect(first.body).toMatchObject({ status: "completed", complexity_score: 160 });
  expect(await run()).toMatchObject({ status: 429, body: { code: "rate_limited" } });
});

test("an account's own limit holds for programs too, in addition to their score", async () => {
  const { id, owner } = await newAccount();
  await setOwnLimit(testTable(), id, "default", { perMinute: 6, burst: 2 });
  const code = Array.from({ length: 5 }, () => `workspaces.list(account_id="${id}")`).join("\n");
  const body = { request_id: randomUUID(), session_id: "s", code };
  const { body: envelope } = await request("POST", "/v1/public/a2a", { token: owner.token, body });
  const statuses: string[] = envelope.responses.map(({ status }: { status: string }) => status);
  const failedAt = statuses.indexOf("failed");
  // The reads run at the same time. So any of the first three can be the one over the limit.
  expect([0, 1, 2]).toContain(failedAt);
  const [before, after] = [Array(failedAt).fill("completed"), Array(4 - failedAt).fill("skipped")];
  expect(statuses).toEqual([...before, "failed", ...after]);
  expect(envelope.error.code).toBe("rate_limited");
});

test("an unreadable request counts like any other request", { timeout: 30_000 }, async () => {
  const { id, owner } = await newAccount();
  const send = (body: string, type: string) =>
    request("POST", `/v1/public/accounts/${id}/workspaces`, {
      token: owner.token,
      body,
      headers: { "content-type": type },
    });
  const sent = Array.from({ length: 150 }, (_, index) =>
    index % 2 === 0 ? send("{", "application/json") : send("a=b", "text/plain"),
  );
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([400, 415, 429]));
});

test("an unreadable request is charged in the class of its route, and counts for the account's own limit", async () => {
  const { id, owner } = await newAccount();
  await setOwnLimit(testTable(), id, "sensitive", { perMinute: 1, burst: 1 });
  const send = (body: string) =>
    request("POST", `/v1/public/accounts/${id}/auth/service-accounts`, { token: owner.token, body });
  const answers = [await send("{"), await send("{")];
  expect(answers.map(({ status }) => status)).toEqual([400, 429]);
  expect(answers[1]?.body).toMatchObject({ code: "rate_limited", burst: 1 });
});

test("the own limit of an account is neither shown nor charged to a caller without access to the account", async () => {
  const { id, owner } = await newAccount();
  const own = { perMinute: 60_000, burst: 20_000 };
  for (const name of ["default", "sensitive"] as const) await setOwnLimit(testTable(), id, name, own);
  const asked = (accountId: string, { token }: User) => {
    const path = `/v1/public/accounts/${accountId}`;
    const policyOf = async (method: string, rest: string, body?: unknown) => {
      const answer = await request(method, rest, { token, ...(body === undefined ? {} : { body }) });
      return [answer.status, answer.headers["ratelimit-policy"]];
    };
    return Promise.all([
      policyOf("GET", `${path}/workspaces`),
      policyOf("GET", `${path}/workspaces?limit=x`),
      policyOf("POST", `${path}/auth/service-accounts`, "{"),
      policyOf("GET", `/v1/public/me?account_id=${accountId}`),
    ]);
  };
  const stranger = newUser();
  expect(await asked(id, stranger)).toEqual(await asked(randomUUID(), stranger));
  const policies = (await asked(id, owner)).map(([, policy]) => policy);
  expect(policies.slice(0, 3)).toEqual([
    '"default";q=20000;w=20',
    '"default";q=20000;w=20',
    '"sensitive";q=20000;w=20',
  ]);
});

test("a process asks once in ten seconds whether a caller has access to an account with an own limit", async () => {
  const { id: accountId } = await newAccount();
  await setOwnLimit(testTable(), accountId, "default", { perMinute: 60_000, burst: 20_000 });
  const memory = newLimiterMemory();
  let [asked, at] = [0, Date.now()];
  const ask = async () => {
    const isMember = async () => {
      asked += 1;
      return false;
    };
    const context = { table: testTable(), memory, log, now: () => new Date(at) };
    const what = { principalId, class: "default", cost: 1, accountId, isMember } as const;
    return charge(what, context).then(
      (state) => state?.limit.burst,
      () => "refused",
    );
  };
  const principalId = randomUUID();
  const answers: unknown[] = [];
  for (let count = 0; count < burst + 20; count += 1) answers.push(await ask());
  expect([new Set(answers), asked]).toEqual([new Set([burst, "refused"]), 1]);
  at += 10_001;
  await ask();
  expect(asked).toBe(2);
});

test("an unreadable request without a credential is charged to its network", async () => {
  const body = `{ ${randomUUID()}`;
  const { status, headers } = await request("POST", "/v1/public/forwarding/verify", { body });
  expect(status).toBe(400);
  expect(headers["ratelimit"]).toContain(`"sensitive";r=${limitClasses.sensitive.burst - 1};`);
});

test("a bucket is kept until it is empty, and for an hour at least", async () => {
  const { id: accountId } = await newAccount();
  await setOwnLimit(testTable(), accountId, "default", { perMinute: 1, burst: 1_000 });
  const [principalId, at] = [randomUUID(), Date.now()];
  const context = { table: testTable(), memory: newLimiterMemory(), log, now: () => new Date(at) };
  for (const [cost, hours] of [
    [1, 1],
    [900, 901 / 60],
    [99, 1_000 / 60],
  ] as const) {
    await charge({ principalId, class: "default", cost, accountId, isExact: true }, context);
    const [bucket] = await testTable().getMany([rateKey(`${principalId}#default#${accountId}`)]);
    expect(Number(bucket?.["ttl"]) * 1_000).toBeGreaterThanOrEqual(at + hours * 3_600_000);
  }
});

test("an account's own limit holds for every letter case of the account's id", async () => {
  const { id, owner } = await newAccount();
  await setOwnLimit(testTable(), id, "default", { perMinute: 1, burst: 2 });
  const read = (written: string) => request("GET", `/v1/public/accounts/${written}/workspaces`, { token: owner.token });
  const mixed = id.replace(/[a-f]/, (letter) => letter.toUpperCase());
  const answers = [await read(id.toUpperCase()), await read(mixed), await read(id.toUpperCase())];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers[2]?.body).toMatchObject({ code: "rate_limited", burst: 2 });
});

test("a process remembers at most 10,000 callers and 10,000 accounts, and forgets the oldest", async () => {
  const [memory, at, table] = [newLimiterMemory(), Date.now(), openMemoryTable(createMemoryStore())];
  const of = (name: string, accountId: string) =>
    charge(
      { principalId: name, class: "default", cost: 1, accountId },
      { table, memory, log, now: () => new Date(at) },
    );
  for (let caller = 0; caller < 10_001; caller++) await of(`caller-${caller}`, `account-${caller}`);
  expect([memory.buckets.size, memory.ownLimits.size]).toEqual([10_000, 10_000]);
  const isKnown = (caller: number) => [
    memory.buckets.has(`caller-${caller}#default`),
    memory.ownLimits.has(`account-${caller}`),
  ];
  expect([0, 1, 10_000].map(isKnown)).toEqual([
    [false, false],
    [true, true],
    [true, true],
  ]);
});
