import { randomUUID } from "node:crypto";

import { route as addRoute } from "../../functions/workspaces/add.ts";
import { route as getRoute } from "../../functions/workspaces/get.ts";
import { createAccount, createClient } from "../../shared/access/operate-accounts.ts";
import { noPermissions } from "../../shared/auth/permissions.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { etagOf } from "../../shared/core/etag.ts";
import { createLog } from "../../shared/core/log.ts";
import { invoke, type Door } from "../../shared/http/invoke.ts";
import { charge, newLimiterMemory } from "../../shared/rate-limits/limiter.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { documentClient, openTable, type Table } from "../../shared/table/table.ts";
import { onOwnEngine } from "./engine.ts";
import type { Figure } from "./suite.ts";

const runs = 300;

/** What each promise of the route core adds to a GET and a POST: time in this process and the engine, and capacity. */
export const promiseCost = (): Promise<Figure[]> => onOwnEngine(measure);

type Variant = { name: string; run: (index: number) => Promise<unknown> };

async function measure(): Promise<Figure[]> {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const table = openTable(documentClient(), "bench", usage);
  const principal: Principal = { type: "user", id: randomUUID(), email: "bench@example.com", groups: [] };
  const client = await createClient(table, "Bench");
  const account = await createAccount(table, { client, name: "Bench", ownerId: principal.id }, new Date());
  const scene = {
    table,
    principal,
    accountId: account.id,
    workspaceId: await firstWorkspace(table, principal, account.id),
  };
  const figures: Figure[] = [];
  for (const [method, variants] of [
    ["GET", gets(scene)],
    ["POST", posts(scene)],
  ] as const) {
    figures.push(...(await compare(method, variants, usage)));
  }
  return figures;
}

type Scene = { table: Table; principal: Principal; accountId: string; workspaceId: string };

const log = createLog("silent", {});
const now = () => new Date();

/** A door whose caller asks every `everyMs` of the limiter's own clock; without it there is no limit. */
function doorOf({ table, principal }: Pick<Scene, "table" | "principal">, everyMs?: number): Door {
  const memory = newLimiterMemory();
  const bucket = randomUUID();
  let at = Date.now();
  return {
    requestId: "bench",
    log,
    now,
    table,
    authenticate: async () => principal,
    charge: async (what) => {
      if (everyMs === undefined) return;
      at += everyMs;
      await charge({ ...what, principalId: bucket }, { table, memory, log, now: () => new Date(at) });
    },
  };
}

/** Five requests a second to one process, half of what the default class allows; and one now and then. */
const [steadyMs, sparseMs] = [200, 30_000];

async function firstWorkspace(table: Table, principal: Principal, accountId: string): Promise<string> {
  const raw = { params: { account_id: accountId }, query: {}, body: { name: "First" } };
  const { output } = await invoke(addRoute, raw, doorOf({ table, principal }));
  return (output as { id: string }).id;
}

function gets(scene: Scene): Variant[] {
  const raw = { params: { account_id: scene.accountId, workspace_id: scene.workspaceId }, query: {}, body: {} };
  const plain = doorOf(scene);
  const [steady, sparse] = [doorOf(scene, steadyMs), doorOf(scene, sparseMs)];
  return [
    { name: "without promises", run: () => invoke(getRoute, raw, plain) },
    { name: "rate limit, 5 a second", run: () => invoke(getRoute, raw, steady) },
    { name: "rate limit, 2 a minute", run: () => invoke(getRoute, raw, sparse) },
    { name: "entity tag", run: async () => etagOf((await invoke(getRoute, raw, plain)).output) },
  ];
}

function posts(scene: Scene): Variant[] {
  const { table, principal, accountId } = scene;
  const raw = (variant: string, index: number, headers = {}) => ({
    params: { account_id: accountId },
    query: {},
    body: { name: `${variant} ${index}` },
    headers,
  });
  const [plain, steady] = [doorOf(scene), doorOf(scene, steadyMs)];
  const unrecorded = {
    principal,
    permissions: { ...noPermissions, member: true, everything: true },
    requestId: "bench",
    table,
    commit: table.commit,
    answer: async <T>(value: T): Promise<T> => value,
    log,
    now,
  };
  const bare = (index: number) => addRoute.run({ ...raw("bare", index), found: undefined }, unrecorded);
  return [
    { name: "the effect alone, unauthorized", run: bare },
    {
      name: "authorized and recorded (audit and event)",
      run: (index) => invoke(addRoute, raw("recorded", index), plain),
    },
    {
      name: "recorded, with an Idempotency-Key",
      run: (index) => invoke(addRoute, raw("keyed", index, { "idempotency-key": `k${index}` }), plain),
    },
    {
      name: "the same again, replayed",
      run: (index) => invoke(addRoute, raw("keyed", index, { "idempotency-key": `k${index}` }), plain),
    },
    {
      name: "recorded, rate limited at 5 a second",
      run: (index) => invoke(addRoute, raw("limited", index), steady),
    },
  ];
}

/** Each variant in turn, so that what the machine does besides falls on all of them; the median is what counts. */
async function compare(method: string, variants: readonly Variant[], usage: Usage): Promise<Figure[]> {
  const samples = variants.map(() => ({ us: [] as number[], units: [] as Usage[] }));
  for (let index = 0; index < runs; index++) {
    for (const [place, { run }] of variants.entries()) {
      Object.assign(usage, { readUnits: 0, writeUnits: 0, calls: 0 });
      const startedAt = performance.now();
      await run(index);
      samples[place]?.us.push((performance.now() - startedAt) * 1000);
      samples[place]?.units.push({ ...usage });
    }
  }
  return variants.flatMap(({ name }, place) => {
    const { us = [], units = [] } = samples[place] ?? {};
    const mean = (member: keyof Usage) => units.reduce((sum, one) => sum + one[member], 0) / Math.max(1, units.length);
    const title = `${method} ${name}`;
    return [
      { name: `${title}: median`, value: us.toSorted((a, b) => a - b)[us.length >> 1] ?? 0, unit: "µs" },
      { name: `${title}: reads`, value: mean("readUnits"), unit: "read units" },
      { name: `${title}: writes`, value: mean("writeUnits"), unit: "write units" },
      { name: `${title}: round trips`, value: mean("calls"), unit: "calls" },
    ];
  });
}
