import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

import { ApiError, connect, type HostedMail } from "#client";

import type { Demo } from "../../infra/local/seed/demo.ts";
import { inFolder, median, quantile, type Figure, type Options, type Result } from "./harness.ts";
import { shown, table } from "./page.ts";
import { withProduct, type Product } from "./product.ts";

/** Requests at a time. */
const workers = 8;
const sampleMs = 1_000;
/** Owners of each of the two accounts: so many that none of them reaches a rate limit. */
const ownersEach = 53;
/** The time before memory counts: the engine remembers the token of each transaction for ten minutes, as DynamoDB does. */
const warmUpSeconds = 660;

type Times = { warmUp: number; seconds: number };
/** Seconds since the load began, and the mebibytes that are resident in each process. */
type Sample = { seconds: number; product: number; engine: number };
/** The mebibytes of the product's live objects. */
type Live = { seconds: number; mebibytes: number };

/** `npm start` under mixed load: requests a second, wrong answers, and whether its memory grows. */
export const run = ({ seconds, quick }: Options): Promise<Result> =>
  inFolder(async (dataDir) => {
    const times = quick ? { warmUp: 10, seconds: Math.min(seconds, 30) } : { warmUp: warmUpSeconds, seconds };
    const preload = pathToFileURL(join(import.meta.dirname, "report-heap.mjs")).href;
    const env = {
      LOG_LEVEL: "silent",
      NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${preload}`,
    };
    const checkout = resolve(import.meta.dirname, "../..");
    return withProduct({ checkout, dataDir, env }, (product) => underLoad(product, dataDir, times));
  });

async function underLoad(product: Product, dataDir: string, times: Times): Promise<Result> {
  const { baseUrl, demo } = product;
  const load = newLoad(baseUrl, await newOwners(baseUrl, demo, ownersEach));
  const { pid: server } = JSON.parse(await readFile(join(dataDir, "engine.json"), "utf8")) as { pid: number };
  const engine = engineOf(server);
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const isOver = (): boolean => elapsed() >= times.warmUp + times.seconds;
  const samples: Sample[] = [];
  const live: Live[] = [];
  const measureHeap = async () => {
    const seconds = elapsed();
    live.push({ seconds, mebibytes: await liveHeap(product, server) });
  };
  const observe = async (): Promise<void> => {
    while (!isOver()) {
      // The collection makes the process smaller for a while: not while its memory counts.
      if (live.length === 0 && elapsed() > times.warmUp / 2) await measureHeap();
      samples.push({ seconds: elapsed(), product: resident(server), engine: resident(engine) });
      if (samples.length % 30 === 0) {
        process.stderr.write(`  ${shown(elapsed(), 0)} s: ${load.times.length} requests\n`);
      }
      await pause(sampleMs);
    }
  };
  const work = async (): Promise<void> => {
    while (!isOver()) await load.next();
  };
  await Promise.all([observe(), ...Array.from({ length: workers }, work)]);
  await measureHeap();
  for (const what of load.unexpected.slice(0, 5)) process.stderr.write(`  unexpected: ${what}\n`);
  return resultOf(times, { load, samples, live });
}

const ps = (...args: string[]): string => execFileSync("ps", args, { encoding: "utf8" });

/** The process of the engine that a product started. */
function engineOf(server: number): number {
  const line = new RegExp(String.raw`^\s*(\d+)\s+${server}\s.* serve `, "m");
  return Number(line.exec(ps("-A", "-o", "pid=,ppid=,args="))?.[1]);
}

/** Resident mebibytes of a process. */
const resident = (pid: number): number => Number(ps("-o", "rss=", "-p", String(pid))) / 1024;

/** The mebibytes of a process's live objects, by report-heap.mjs. */
function liveHeap({ lines }: Product, pid: number): Promise<number> {
  process.kill(pid, "SIGUSR2");
  return new Promise((resolve) => {
    lines.on("line", (line) => {
      const [, bytes] = /^live heap: (\d+)$/.exec(line) ?? [];
      if (bytes !== undefined) resolve(Number(bytes) / 2 ** 20);
    });
  });
}

type Run = { load: ReturnType<typeof newLoad>; samples: readonly Sample[]; live: readonly Live[] };

function resultOf(times: Times, { load, samples, live }: Run): Result {
  const warm = samples.filter(({ seconds }) => seconds > times.warmUp);
  const fifth = Math.max(1, Math.floor(warm.length / 5));
  const change = (of: keyof Sample): number =>
    median(warm.slice(-fifth).map((sample) => sample[of])) - median(warm.slice(0, fifth).map((sample) => sample[of]));
  const [firstLive, lastLive] = [live[0], live.at(-1)] as [Live, Live];
  const liveGrowth = (lastLive.mebibytes - firstLive.mebibytes) / (lastLive.seconds - firstLive.seconds);
  const most = (member: "product" | "engine"): number => Math.max(...warm.map((sample) => sample[member]));
  const growth = (whose: string, aSecond: number): Figure => ({
    name: `soak: … growth of ${whose}`,
    value: 60 * aSecond,
    unit: "MiB a minute",
    bar: 1,
  });
  const figures = [
    {
      name: `soak, ${workers} at a time: requests`,
      value: load.times.length / (times.warmUp + times.seconds),
      unit: "a second",
    },
    { name: "soak: p50", value: quantile(load.times, 0.5), unit: "ms" },
    { name: "soak: p99", value: quantile(load.times, 0.99), unit: "ms" },
    { name: "soak: answers other than expected", value: load.unexpected.length, unit: "answers", bar: 0 },
    { name: "soak: memory of the product at most", value: most("product"), unit: "MiB" },
    growth("the product once warm", change("product") / change("seconds")),
    growth("its live objects", liveGrowth),
    { name: "soak: memory of the engine at most", value: most("engine"), unit: "MiB" },
    growth("the engine once warm", change("engine") / change("seconds")),
  ];
  return { figures, chapter: chapterOf(times, load.mix, samples) };
}

function chapterOf({ warmUp, seconds }: Times, mix: Record<string, number>, samples: readonly Sample[]): string {
  const minutes = (of: number): string => shown(of / 60, of < 300 ? 1 : 0);
  const step = Math.ceil(samples.length / 12);
  const rows = samples
    .filter((_, index) => index % step === 0 || index === samples.length - 1)
    .map(({ seconds, product, engine }) => [minutes(seconds), shown(product, 0), shown(engine, 0)]);
  const sent = Object.entries(mix).map(([name, count]) => `${name} ${shown(count, 0)}`);
  return `## Local gateway under load

This suite runs \`npm start\` with an empty table for ${minutes(seconds)} minutes, after ${minutes(warmUp)} minutes of warming up. It sends ${workers} requests at a
time over HTTP, from the same machine: reads, writes that it undoes, programs of code mode, and mistakes.

- Growth is the median of the last fifth of the ${minutes(seconds)} minutes, compared with the median of the first fifth.
- Live objects are the product's heap after a full garbage collection, half-way through the warm-up and at the end.
- The engine grows while it warms up, because it stores the token of every transaction for ten minutes, as DynamoDB does. A token takes about 0.5 kB.

${table(["Minute", "Product, MiB resident", "Engine, MiB resident"], rows)}

Sent: ${sent.join(", ")}.
`;
}

type Owner = { accountId: string; token: string };
/** Sends a request that must succeed, or be refused with a status. */
type Send = <T>(name: string, call: () => Promise<T>, refusedWith?: number) => Promise<T | undefined>;
type Caller = { api: HostedMail; stranger: HostedMail; path: { account_id: string }; send: Send };
type Step = (caller: Caller) => Promise<unknown>;

/** More owners for the demo's accounts: one person's rate limit is soon used up. */
async function newOwners(baseUrl: string, { accounts }: Demo, each: number): Promise<Owner[]> {
  const owners: Owner[] = [];
  const headers = { "content-type": "application/json" };
  for (const { id: account_id, owner } of accounts) {
    const api = connect({ baseUrl, token: owner.token });
    for (let count = 0; count < each; count++) {
      const sub = randomUUID();
      const body = { grant_kind: "account_owner", subject_type: "user", subject_id: sub } as const;
      await api.auth.authorizations.grant({ path: { account_id }, body });
      const asked = { method: "POST", headers, body: JSON.stringify({ sub }) };
      const { token } = (await (await fetch(`${baseUrl}/_local/tokens`, asked)).json()) as { token: string };
      owners.push({ accountId: account_id, token });
    }
  }
  return owners;
}

/**
 * A mix of reads, writes that are undone again, programs and mistakes, by all owners in turn. `next` sends the next
 * request, or the few that belong together. `times` are the milliseconds of each request so far, `mix` counts them by
 * kind, and `unexpected` lists the answers that are wrong.
 */
function newLoad(baseUrl: string, owners: readonly Owner[]) {
  const [times, unexpected, mix]: [number[], string[], Record<string, number>] = [[], [], {}];
  const timedFetch = async (request: Request): Promise<Response> => {
    const startedAt = performance.now();
    const { body, status, statusText, headers } = await fetch(request);
    const text = body === null ? null : await new Response(body).text();
    times.push(performance.now() - startedAt);
    return new Response(text, { status, statusText, headers });
  };
  const send: Send = async (name, call, refusedWith) => {
    mix[name] = (mix[name] ?? 0) + 1;
    try {
      const answer = await call();
      if (refusedWith !== undefined) unexpected.push(`${name}: answered, not refused with ${refusedWith}`);
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== refusedWith) unexpected.push(`${name}: ${error.message.slice(0, 200)}`);
      return undefined;
    }
  };
  const as = (token: string): HostedMail => connect({ baseUrl, token, retries: 0, fetch: timedFetch });
  const stranger = as("nobody");
  const callers = owners.map(({ accountId, token }): Caller => {
    return { api: as(token), stranger, path: { account_id: accountId }, send };
  });
  let turn = -1;
  const next = async (): Promise<void> => {
    turn += 1;
    const [caller, step] = [callers[turn % callers.length], steps[turn % steps.length]];
    if (caller) await step?.(caller);
  };
  return { next, times, unexpected, mix };
}

const query = { page: 1, page_size: 25 };

/** A workspace from its creation to its deletion. */
const workspace: Step = async ({ api, path, send }) => {
  const name = `Soak ${randomUUID()}`;
  const made = await send("workspaces.add", () => api.workspaces.add({ path, body: { name } }));
  const one = { ...path, workspace_id: made?.data.id ?? "" };
  await send("workspaces.get", () => api.workspaces.get({ path: one }));
  await send("workspaces.update", () => api.workspaces.update({ path: one, body: { name: `${name} again` } }));
  await send("workspaces.delete", () => api.workspaces.delete({ path: one }));
  await send("workspaces.get, deleted", () => api.workspaces.get({ path: one }), 404);
};

const tag: Step = async ({ api, path, send }) => {
  const made = await send("tags.add", () => api.tags.add({ path, body: { name: `Soak ${randomUUID()}` } }));
  await send("tags.delete", () => api.tags.delete({ path: { ...path, tag_id: made?.data.id ?? "" } }));
};

const program: Step = ({ api, path: { account_id }, send }) => {
  const code = `workspaces.list(account_id="${account_id}")\ndomains.list(account_id="${account_id}")\nme.get()`;
  return send("a program", () => api.code.a2a({ body: { request_id: randomUUID(), session_id: "soak", code } }));
};

const mistakes: Step = async ({ api, stranger, path, send }) => {
  await send("with a bad token", () => stranger.workspaces.list({ path }), 401);
  await send("a bad body", () => api.workspaces.add({ path, body: { name: "" } }), 422);
  await send("another's account", () => api.workspaces.list({ path: { account_id: randomUUID() } }), 404);
};

/** Three quarters of all requests read. */
const steps: readonly Step[] = [
  ({ api, path, send }) => send("workspaces.list", () => api.workspaces.list({ path, query })),
  ({ api, send }) => send("me.get", () => api.me.get()),
  ({ api, path, send }) => send("domains.list", () => api.domains.list({ path, query })),
  workspace,
  ({ api, path, send }) => send("mailboxes.list", () => api.mailboxes.list({ path, query })),
  ({ api, path, send }) => send("audit.list", () => api.audit.list({ path, query })),
  ({ api, path, send }) => send("accounts.get", () => api.accounts.get({ path })),
  ({ api, send }) => send("accounts.list", () => api.accounts.list()),
  tag,
  ({ api, path, send }) => send("tags.list", () => api.tags.list({ path, query })),
  ({ api, path, send }) => send("dns_records.list", () => api.dns_records.list({ path, query })),
  program,
  ({ api, path, send }) => send("webhooks.list", () => api.webhooks.list({ path, query })),
  ({ api, path, send }) => send("billing.transactions.list", () => api.billing.transactions.list({ path, query })),
  mistakes,
];
