import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { createLog } from "../../../shared/core/log.ts";
import { limitClasses } from "../../../shared/rate-limits/classes.ts";
import { charge, limitsKey, newLimiterMemory, type LimiterMemory } from "../../../shared/rate-limits/limiter.ts";
import { reserve } from "../../../shared/rate-limits/reservation.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import { withFault } from "../../support/faults.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser, testTable } from "../../support/world.ts";

const log = createLog("silent", {});
const { perMinute, burst } = limitClasses.default;

type Setting = { memory?: LimiterMemory; at?: number; cost?: number; table?: Table; accountId?: string };

/** A caller who sends requests and programs. A `memory` stands for a process that serves the caller. */
function newCaller() {
  const principalId = randomUUID();
  const start = Date.now();
  const contextOf = ({ memory = newLimiterMemory(), at = 0, table = testTable() }: Setting) => ({
    table,
    memory,
    log,
    now: () => new Date(start + at),
  });
  const what = ({ cost = 1, accountId }: Setting) => ({ principalId, class: "default" as const, cost, accountId });
  return {
    principalId,
    ask: (setting: Setting = {}) => charge(what(setting), contextOf(setting)),
    program: (setting: Setting & { isMember?: boolean }) =>
      reserve({ ...what(setting), isMember: async () => setting.isMember ?? true }, contextOf(setting)),
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

const passed = async (attempts: readonly Promise<unknown>[]): Promise<number> =>
  (await Promise.all(attempts.map(passes))).filter(Boolean).length;

const many = (count: number, ask: () => Promise<unknown>): Promise<number> =>
  passed(Array.from({ length: count }, ask));

test("a program that used less than its reservation leaves the rest to other requests, in every process", async () => {
  const [caller, here] = [newCaller(), newLimiterMemory()];
  const { settle } = await caller.program({ memory: here, cost: 651 });
  await settle(7);
  expect(await many(burst, () => caller.ask({ memory: here }))).toBe(burst - 7);
  const other = newCaller();
  await (await other.program({ cost: 651 })).settle(7);
  const there = newLimiterMemory();
  expect(await many(burst, () => other.ask({ memory: there }))).toBe(burst - 7);
});

test("while a program runs, other requests are accepted as if it had cost nothing, and its used cost counts afterwards", async () => {
  const [caller, there] = [newCaller(), newLimiterMemory()];
  const { settle } = await caller.program({ cost: 651 });
  expect(await many(burst + 20, () => caller.ask({ memory: there }))).toBe(burst);
  await settle(7);
  expect(await passes(caller.ask({ at: 500 }))).toBe(false);
  expect(await passes(caller.ask({ at: 2_000 }))).toBe(true);
});

test("a small reservation takes no room from other requests either", async () => {
  const [caller, there] = [newCaller(), newLimiterMemory()];
  await caller.program({ cost: 50 });
  expect(await many(burst + 20, () => caller.ask({ memory: there }))).toBe(burst);
});

test("if the answer to a reservation is lost and the write is sent again, its end still leaves no reservation", async () => {
  const caller = newCaller();
  await caller.ask();
  const { calls } = await withFault(undefined, -1, () => newCaller().program({ cost: 50 }));
  const reserving = calls.indexOf("UpdateItem");
  expect(reserving).toBeGreaterThanOrEqual(0);
  const { value } = await withFault("answer lost once", reserving, () => caller.program({ cost: 50 }));
  await value.settle(50);
  const [bucket] = await testTable().between(`RATE#${caller.principalId}#default`, "RATE", "RATE~");
  expect(bucket).toMatchObject({ reservations: 0 });
});

test("the time during a program gives other requests no room above the burst", async () => {
  const [caller, at] = [newCaller(), 20_000];
  const { settle } = await caller.program({ cost: 651 });
  const there = newLimiterMemory();
  expect(await many(burst + 20, () => caller.ask({ memory: there, at }))).toBe(burst);
  await settle(7);
  expect(await many(50, () => caller.ask({ at }))).toBeLessThanOrEqual(1);
});

test("a reservation that was given back gives no room above the burst to a process that does not know of it", async () => {
  const [caller, there] = [newCaller(), newLimiterMemory()];
  const { settle } = await caller.program({ cost: 50 });
  await many(30, () => caller.ask({ memory: there }));
  await settle(0);
  expect(await many(150, () => caller.ask({ memory: there, at: 7_000 }))).toBe(burst);
});

test("a program is charged its whole used cost, even above the burst", async () => {
  const caller = newCaller();
  await (await caller.program({ cost: 240 })).settle(240);
  await expect(caller.ask()).rejects.toMatchObject({ extras: { retry_after: 15, remaining: 0 } });
  expect(await passes(caller.ask({ at: 14_000 }))).toBe(false);
  expect(await passes(caller.ask({ at: 14_100 }))).toBe(true);
});

test("a second program is refused until the first program has ended, and the error gives the longest wait", async () => {
  const caller = newCaller();
  const first = await caller.program({ cost: 900 });
  await expect(caller.program({ cost: 60 })).rejects.toMatchObject({
    code: "rate_limited",
    extras: { retry_after: 85 },
  });
  await first.settle(5);
  await (await caller.program({ cost: 60 })).settle(60);
});

test("a program that costs more than half of the burst needs room for this half, and a smaller program for its cost", async () => {
  const caller = newCaller();
  const memory = newLimiterMemory();
  await caller.ask({ memory, cost: 51 });
  expect(await passes(caller.program({ memory, cost: 900 }))).toBe(false);
  expect(await passes(caller.program({ memory, cost: 50 }))).toBe(false);
  const fitting = await caller.program({ memory, cost: 49 });
  await fitting.settle(0);
  expect(await passes(caller.program({ memory, at: 100, cost: 900 }))).toBe(true);
});

test.each([
  [11, 1_100, "fulfilled"],
  [651, 65_100, "rejected"],
])(
  "the reservation of %i requests for a program that died ends by itself, at the rate of the limit",
  async (cost, until, whileReserved) => {
    const caller = newCaller();
    await caller.program({ cost });
    const [other] = await Promise.allSettled([caller.program({ at: 500, cost: 60 })]);
    expect(other?.status).toBe(whileReserved);
    if (other?.status === "fulfilled") await other.value.settle(0);
    expect(await passes(caller.program({ at: until + 1_000, cost: 900 }))).toBe(true);
    expect(await passes(caller.program({ at: until + 2_000, cost: 60 }))).toBe(false);
  },
);

test("a program that ends after the end of its reservation gives nothing back", async () => {
  const caller = newCaller();
  const late = await caller.program({ cost: 651 });
  const next = await caller.program({ at: 66_000, cost: 900 });
  await next.settle(900);
  await late.settle(0);
  expect(await passes(caller.ask({ at: 145_000 }))).toBe(false);
  expect(await passes(caller.ask({ at: 146_500 }))).toBe(true);
});

test("in any order of requests and programs, no more is used than the limit allows, plus one program and half a burst", async () => {
  const step = fc.record({
    afterMs: fc.integer({ min: 0, max: 4_000 }),
    requests: fc.integer({ min: 0, max: 40 }),
    cost: fc.integer({ min: 2, max: 300 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    isDying: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const caller = newCaller();
      const memories = [newLimiterMemory(), newLimiterMemory()];
      let [at, used, largest] = [0, 0, 0];
      for (const [index, { afterMs, requests, cost, share, isDying }] of steps.entries()) {
        at += afterMs;
        const memory = memories[index % 2] ?? newLimiterMemory();
        const program = await caller.program({ memory, at, cost }).catch(() => undefined);
        used += await many(requests, () => caller.ask({ memory, at }));
        if (!program || isDying) continue;
        const usedCost = Math.floor(cost * share);
        await program.settle(usedCost);
        used += usedCost;
        largest = Math.max(largest, cost);
      }
      // A process charges up to a tenth of the burst in advance, and one request passes before it learns of the others.
      expect(used).toBeLessThanOrEqual(burst + largest + burst / 2 + (at * perMinute) / 60_000 + 2 * (burst / 10 + 1));
    }),
    { numRuns: 25 },
  );
});

test("a program of a member uses the account's own limit if it allows more, and otherwise the usual limit", async () => {
  const [more, less] = [randomUUID(), randomUUID()];
  const put = (accountId: string, limit: object) =>
    testTable().commit(async () => ({
      value: 0,
      writes: [{ put: { ...limitsKey(accountId), classes: { default: limit } } }],
    }));
  await put(more, { perMinute: 6_000, burst: 2_000 });
  await put(less, { perMinute: 6, burst: 2 });
  const caller = newCaller();
  const own = await caller.program({ cost: 990, accountId: more });
  expect(own.isOwn).toBe(true);
  expect((await newCaller().program({ cost: 990, accountId: more, isMember: false })).isOwn).toBe(false);
  expect((await caller.program({ cost: 900, accountId: more })).isOwn).toBe(true);
  expect((await caller.program({ cost: 900, accountId: less })).isOwn).toBe(false);
  expect(await passes(caller.program({ cost: 900, accountId: less }))).toBe(false);
});

test("if the table fails, programs are accepted", async () => {
  const gone = openTable(new TableClient({ endpoint: "http://127.0.0.1:1" }), "gone", {
    readUnits: 0,
    writeUnits: 0,
    calls: 0,
  });
  const { settle, state } = await newCaller().program({ cost: 500, table: gone });
  expect([state, await settle(1)]).toEqual([undefined, undefined]);
});

/** A program that `count` times lists the domains of an account, and the DNS records of each domain. */
const listing = (id: string, count: number) =>
  `ds = domains.list(account_id="${id}").items\n[dns_records.list(account_id="${id}", domain=d.name).total for d in ds]\n`.repeat(
    count,
  );

test("a program over lists of unknown length is charged only for the calls that it made", async () => {
  const { id, owner } = await newAccount();
  const send = (code: string) =>
    request("POST", "/v1/public/a2a", {
      token: owner.token,
      body: { request_id: randomUUID(), session_id: randomUUID(), code },
    });
  const { body, headers } = await send(listing(id, 2));
  expect([body.status, body.complexity_score]).toEqual(["completed", 52]);
  const left = Number(/r=(\d+)/.exec(headers["ratelimit"] ?? "")?.[1]);
  expect(left).toBeGreaterThanOrEqual(burst - 2);
  for (let again = 0; again < 5; again++) expect((await send(listing(id, 3))).body.status).toBe("completed");
});

test("the error of a program that does not fit has its cost, the remaining requests, the wait, and how to cost less", async () => {
  const { id, owner } = await newAccount();
  const call = (code: string) =>
    request("POST", "/v1/public/mcp", {
      token: owner.token,
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "service_execute", arguments: { code } },
      },
    });
  await call("me.get()\n".repeat(60));
  const { status, body } = await call(`[workspaces.list(account_id="${id}", page_size=100).total for i in range(60)]`);
  expect([status, body.result.isError]).toEqual([200, true]);
  const { error } = JSON.parse(body.result.content[0].text);
  expect(error).toMatchObject({
    code: "rate_limited",
    detail: { retry_after: expect.any(Number), cost: 240, burst: 100, remaining: expect.any(Number) },
  });
  expect(error.message).toMatch(
    /^This program can cost up to 240 of the rate limit, and \d+ of 100 are left\. Send it again in [1-9]\d* s;/,
  );
  expect(error.message).toContain("workspaces.list in line 1 counts 4 for each of up to 60 calls");
  expect(error.message).toContain("smaller `page_size`");
});

test.each([
  ["2025-11-25", {}],
  ["2026-07-28", { "mcp-protocol-version": "2026-07-28" }],
])(
  "a client of revision %s can connect while the limit is used up, and its tool call then gets the error",
  async (revision, more) => {
    const { owner } = await newAccount();
    const isModern = revision === "2026-07-28";
    const send = (method: string, params: Record<string, unknown>) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      return request("POST", "/v1/public/mcp", {
        token: owner.token,
        headers: {
          ...more,
          ...(isModern
            ? { "mcp-method": method, ...(method === "tools/call" ? { "mcp-name": "service_query" } : {}) }
            : {}),
        },
        body: { jsonrpc: "2.0", id: 1, method, params: { ...params, ...(isModern ? { _meta } : {}) } },
      });
    };
    const program = { name: "service_query", arguments: { code: "me.get()\n".repeat(120) } };
    expect((await send("tools/call", program)).body.result.isError).toBe(false);
    const connected = isModern
      ? await send("server/discover", {})
      : await send("initialize", {
          protocolVersion: revision,
          capabilities: {},
          clientInfo: { name: "t", version: "1" },
        });
    expect([connected.status, connected.body.error]).toEqual([200, undefined]);
    expect((await send("tools/list", {})).body.result.tools).toHaveLength(2);
    const { status, body } = await send("tools/call", { name: "service_query", arguments: { code: "me.get()" } });
    expect([status, body.result.isError]).toEqual([200, true]);
    expect(JSON.parse(body.result.content[0].text).error).toMatchObject({
      code: "rate_limited",
      detail: { retry_after: expect.any(Number) },
    });
  },
);

test("the reservations of many dead programs are removed, and the limit still holds", async () => {
  const [caller, memory] = [newCaller(), newLimiterMemory()];
  let [at, accepted] = [0, 0];
  while (accepted < 250) {
    if (await passes(caller.program({ memory, at, cost: 11 }))) accepted += 1;
    at += 1_100;
  }
  at += 40_000;
  expect(await passed(Array.from({ length: 5 }, () => caller.program({ memory, at, cost: 999 })))).toBe(1);
});

test("requests of several processes during a long program are charged only their own cost", async () => {
  // The processes do not always write at the same time, so several callers try.
  for (let round = 0; round < 8; round += 1) {
    const caller = newCaller();
    await caller.program({ cost: 900 });
    const memories = Array.from({ length: 4 }, () => newLimiterMemory());
    expect(await passed(memories.map((memory) => caller.ask({ memory, at: 15_000 })))).toBe(4);
    const memory = newLimiterMemory();
    expect(await many(20, () => caller.ask({ memory, at: 17_000 }))).toBe(20);
  }
});

test("a program that dies counts for later programs as if it had used its whole reservation", async () => {
  const [caller, memory] = [newCaller(), newLimiterMemory()];
  let programs = 0;
  for (let at = 0; at < 600_000; at += 1_000)
    programs += Number(await passes(caller.program({ memory, at, cost: 999 })));
  expect(999 * programs).toBeLessThanOrEqual(burst + (600_000 * perMinute) / 60_000 + 999);
  expect(programs).toBeGreaterThan(4);
});

test("a stranger's programs do not use the own limit of an account", async () => {
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
