import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

import { progressOn } from "../../infra/local/start/banner.ts";
import { median, newFolder, quantile, type Options, type Result } from "./harness.ts";
import { startProduct } from "./product.ts";

/** The number of requests at a time. */
const workers = 8;
/** The number of owners of each of the two accounts. With so many owners, no owner reaches a rate limit. */
const ownersEach = 53;
/**
 * The seconds before the memory counts. Like DynamoDB, the engine remembers the token of each transaction for ten
 * minutes, so its memory grows at first.
 */
const warmUpSeconds = 660;

type Product = Awaited<ReturnType<typeof startProduct>>;
/** Seconds since the load began, and the resident mebibytes of each process. */
type Sample = { seconds: number; product: number; engine: number };

/** Measures `npm start` under mixed load: requests a second, wrong answers, and the growth of its memory. */
export async function run({ quick }: Options): Promise<Result> {
  await using folder = await newFolder();
  const preload = pathToFileURL(join(import.meta.dirname, "report-heap.mjs")).href;
  const flags = `${process.env["NODE_OPTIONS"] ?? ""} --import=${preload}`;
  const env = { LOG_LEVEL: "silent", NODE_OPTIONS: flags };
  await using product = await startProduct(folder.path, env);
  const load = newLoad(product.baseUrl, await newOwners(product));
  const [warmUp, end] = quick ? [10, 40] : [warmUpSeconds, warmUpSeconds + 600];
  const show = progressOn(process.stderr, { of: end, unit: "seconds" });
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 1000;
  const observe = async (): Promise<void> => {
    while (elapsed() < end) {
      samples.push({ seconds: elapsed(), ...residentOf(product.pid) });
      show(Math.floor(elapsed()));
      await pause(1_000);
    }
  };
  const work = async (): Promise<void> => {
    while (elapsed() < end) await load.next();
  };
  // A forced garbage collection makes the process smaller for a while. So none is forced while the memory counts: the
  // first one is in the middle of the warm-up, and the second one after the end.
  const early = pause(500 * warmUp).then(() => liveHeap(product));
  await Promise.all([observe(), ...Array.from({ length: workers }, work)]);
  const live = (await liveHeap(product)) - (await early);
  return resultOf({ ...load, samples, live, warmUp, end });
}

/** The resident mebibytes of the product, and of the engine that it started. */
function residentOf(pid: number): { product: number; engine: number } {
  const processes = execFileSync("ps", ["-A", "-o", "pid=,ppid=,rss=,args="], { encoding: "utf8" });
  const mebibytes = (line: string): number => Number(new RegExp(line, "m").exec(processes)?.[1]) / 1024;
  return {
    product: mebibytes(String.raw`^\s*${pid}\s+\d+\s+(\d+)`),
    engine: mebibytes(String.raw`^\s*\d+\s+${pid}\s+(\d+)\s.* serve `),
  };
}

/** Reads the mebibytes of the product's live objects, by report-heap.mjs. */
async function liveHeap({ report }: Product): Promise<number> {
  const [, bytes] = await report(/^live heap: (\d+)$/);
  return Number(bytes) / 2 ** 20;
}

type Run = ReturnType<typeof newLoad> & { samples: Sample[]; live: number; warmUp: number; end: number };

function resultOf({ times, unexpected, mix, samples, live, warmUp, end }: Run): Result {
  for (const what of unexpected.slice(0, 5)) process.stderr.write(`  unexpected: ${what}\n`);
  const warm = samples.filter(({ seconds }) => seconds > warmUp);
  const fifth = Math.max(1, Math.floor(warm.length / 5));
  const of = (member: keyof Sample, some = warm): number[] => some.map((sample) => sample[member]);
  const change = (member: keyof Sample): number =>
    median(of(member, warm.slice(-fifth))) - median(of(member, warm.slice(0, fifth)));
  const growth = (mebibytes: number, seconds = change("seconds")) => {
    return { value: (60 * mebibytes) / seconds, unit: "MiB a minute", bar: 1 };
  };
  const step = Math.ceil(samples.length / 12);
  const shown = samples.filter((_, index) => index % step === 0 || index === samples.length - 1);
  return {
    figures: [
      { name: `soak, ${workers} at a time: requests`, value: times.length / end, unit: "a second" },
      { name: "soak: p50", value: quantile(times, 0.5), unit: "ms" },
      { name: "soak: p99", value: quantile(times, 0.99), unit: "ms" },
      { name: "soak: unexpected answers", value: unexpected.length, unit: "answers", bar: 0 },
      { name: "soak: memory of the product at most", value: Math.max(...of("product")), unit: "MiB" },
      { name: "soak: growth of the product's memory once warm", ...growth(change("product")) },
      { name: "soak: growth of the product's live objects", ...growth(live, end - warmUp / 2) },
      { name: "soak: memory of the engine at most", value: Math.max(...of("engine")), unit: "MiB" },
      { name: "soak: growth of the engine's memory once warm", ...growth(change("engine")) },
    ],
    tables: {
      "Resident memory, in MiB": shown.map(({ seconds, product, engine }) => {
        return { Minute: (seconds / 60).toFixed(1), Product: product, Engine: engine };
      }),
      "Requests sent": Object.entries(mix).map(([Request, Count]) => ({ Request, Count })),
    },
  };
}

const sent = (method: string, token: string, body?: object): RequestInit => ({
  method,
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  ...(body ? { body: JSON.stringify(body) } : {}),
});

type Owner = { account: string; token: string };

/** Adds owners to the demo's accounts, because the rate limit of one owner is soon reached. */
async function newOwners({ baseUrl, demo }: Product): Promise<Owner[]> {
  const owners: Owner[] = [];
  for (const { id: account, owner } of demo.accounts) {
    for (let count = 0; count < ownersEach; count++) {
      const sub = randomUUID();
      const given = { grant_kind: "account_owner", subject_type: "user", subject_id: sub };
      const path = `/v1/public/accounts/${account}/auth/authorizations`;
      await fetch(baseUrl + path, sent("POST", owner.token, given));
      const asked = await fetch(`${baseUrl}/_local/tokens`, sent("POST", "", { sub }));
      owners.push({ account, token: ((await asked.json()) as Owner).token });
    }
  }
  return owners;
}

/**
 * A request by its method and path. `status` is the expected status if the right answer is an error. `{account}` is the
 * owner's account, `{id}` the id that the step created, and `{unique}` a UUID of the step.
 */
type Call = { request: string; body?: object; token?: string; status?: number };

const families = "workspaces domains mailboxes audit-log tags dns-records webhooks billing/transactions".split(" ");
const accountPath = "/v1/public/accounts/{account}";
const code = 'workspaces.list(account_id="{account}")\ndomains.list(account_id="{account}")\nme.get()';
const program = { request_id: "{unique}", session_id: "soak", code };

/**
 * Steps of requests that belong together. About three quarters of all requests only read. Each step undoes its writes.
 */
const steps: readonly Call[][] = [
  ...families.map((family) => [{ request: `GET ${accountPath}/${family}?page=1&page_size=25` }]),
  [{ request: "GET /v1/public/me" }],
  [{ request: `GET ${accountPath}` }],
  [{ request: "GET /v1/public/accounts" }],
  [{ request: "POST /v1/public/a2a", body: program }],
  [
    { request: `POST ${accountPath}/workspaces`, body: { name: "Soak {unique}" } },
    { request: `GET ${accountPath}/workspaces/{id}` },
    { request: `PATCH ${accountPath}/workspaces/{id}`, body: { name: "{unique}" } },
    { request: `DELETE ${accountPath}/workspaces/{id}` },
    { request: `GET ${accountPath}/workspaces/{id}`, status: 404 },
  ],
  [{ request: `POST ${accountPath}/tags`, body: { name: "{unique}" } }, { request: `DELETE ${accountPath}/tags/{id}` }],
  [
    { request: `GET ${accountPath}/workspaces`, token: "nobody", status: 401 },
    { request: `POST ${accountPath}/workspaces`, body: { name: "" }, status: 422 },
    { request: "GET /v1/public/accounts/{unique}/workspaces", status: 404 },
  ],
];

/**
 * Runs the steps. The owners take turns. `next` runs the next step. `times` are the milliseconds of each request so
 * far, `mix` counts the requests by name, and `unexpected` lists wrong answers.
 */
function newLoad(baseUrl: string, owners: readonly Owner[]) {
  const [times, unexpected, mix]: [number[], string[], Record<string, number>] = [[], [], {}];
  let turn = -1;
  const next = async (): Promise<void> => {
    turn += 1;
    const { account, token: own } = owners[turn % owners.length] as Owner;
    const [unique, step] = [randomUUID(), steps[turn % steps.length] ?? []];
    let id = "";
    for (const { token = own, status, ...call } of step) {
      const filled = JSON.stringify(call).replaceAll("{account}", account).replaceAll("{unique}", unique);
      const { request, body } = JSON.parse(filled.replaceAll("{id}", id)) as Call;
      const [method = "", path = ""] = request.split(" ");
      const name = `${call.request} ${status ?? ""}`;
      mix[name] = (mix[name] ?? 0) + 1;
      const startedAt = performance.now();
      const response = await fetch(baseUrl + path, sent(method, token, body));
      const text = await response.text();
      times.push(performance.now() - startedAt);
      const isExpected = status === undefined ? response.ok : response.status === status;
      if (!isExpected) unexpected.push(`${name}: ${response.status} ${text.slice(0, 200)}`);
      if (response.status === 201) ({ id } = JSON.parse(text) as { id: string });
    }
  };
  return { next, times, unexpected, mix };
}
