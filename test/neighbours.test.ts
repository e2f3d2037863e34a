import { AsyncLocalStorage } from "node:async_hooks";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { routes } from "../functions/routes.ts";
import type { Route } from "../shared/http/route.ts";
import { limitClasses } from "../shared/rate-limits/classes.ts";
import { callRest } from "./support/call.ts";
import { exampleOf } from "./support/examples.ts";
import { home, person } from "./support/mailboxes.ts";
import { request, type Answer } from "./support/request.ts";
import { sampleOf } from "./support/sample.ts";
import { hookCalls, type TableCall } from "./support/table-calls.ts";
import { newAccount, newServiceAccount, type Account } from "./support/world.ts";

type ItemKey = { PK: string; SK: string };
type Cost = { reads: number; writes: number; calls: number };
/** One request: its answer, what it consumed, and the items that its calls of the table name. */
type Seen = { answer: Answer; cost: Cost; read: string[]; written: string[] };

const watched = new AsyncLocalStorage<Omit<Seen, "answer">>();

async function watch(ask: () => Promise<Answer>): Promise<Seen> {
  const seen = { cost: { reads: 0, writes: 0, calls: 0 }, read: [], written: [] };
  return { ...seen, answer: await watched.run(seen, ask) };
}

const nameOf = ({ PK, SK }: ItemKey): string => `${PK} / ${SK}`;

/** The items that a call reads and writes. A query is named by its partition and its first sort key. */
function itemsOf({ operation, input }: TableCall): { read: string[]; written: string[] } {
  switch (operation) {
    case "GetItem":
      return { read: [nameOf(input.Key as ItemKey)], written: [] };
    case "BatchGetItem": {
      const tables = Object.values(input.RequestItems ?? {});
      return { read: tables.flatMap(({ Keys = [] }) => (Keys as ItemKey[]).map(nameOf)), written: [] };
    }
    case "Query": {
      const { ":partition": PK, ":from": SK } = input.ExpressionAttributeValues as Record<string, string>;
      return { read: [nameOf({ PK: String(PK), SK: String(SK) })], written: [] };
    }
    case "PutItem":
      return { read: [], written: [nameOf(input.Item as ItemKey)] };
    case "TransactWriteItems": {
      const items = input.TransactItems ?? [];
      const read = items.flatMap(({ ConditionCheck }) =>
        ConditionCheck ? [nameOf(ConditionCheck.Key as ItemKey)] : [],
      );
      const written = items.flatMap(({ Put, Update, Delete }) => {
        const key = Put?.Item ?? Update?.Key ?? Delete?.Key;
        return key ? [nameOf(key as ItemKey)] : [];
      });
      return { read, written };
    }
    default:
      return { read: [], written: [nameOf(input.Key as ItemKey)] };
  }
}

type Spent = { CapacityUnits?: number };

hookCalls(async (call, next) => {
  const seen = watched.getStore();
  const answer = await next();
  if (!seen) return answer;
  const { read, written } = itemsOf(call);
  seen.read.push(...read);
  seen.written.push(...written);
  seen.cost.calls += 1;
  const { ConsumedCapacity } = answer as { ConsumedCapacity?: Spent | Spent[] };
  for (const { CapacityUnits = 0 } of [ConsumedCapacity ?? []].flat()) {
    seen.cost[written.length > 0 ? "writes" : "reads"] += CapacityUnits;
  }
  return answer;
});

type Sender = Account & { program: Awaited<ReturnType<typeof newServiceAccount>>; domain: string };

/** An account with a domain, and a program that sends its requests. */
async function newSender(): Promise<Sender> {
  const account = await newAccount();
  const { name: domain } = await home(account);
  return { ...account, domain, program: await newServiceAccount(account, { owner: true }) };
}

type Ask = { method: string; path: string; body?: (sender: Sender) => object };

const record = { type: "A", name: "www", value: "192.0.2.1" };

/** The requests that every sender sends. */
const asks: readonly Ask[] = [
  { method: "GET", path: "workspaces" },
  { method: "POST", path: "workspaces", body: () => ({ name: "Sales" }) },
  { method: "GET", path: "domains?page_size=10" },
  { method: "POST", path: "mailboxes", body: ({ domain }) => ({ domain, ...person("ada") }) },
  { method: "GET", path: "mailboxes?search=ada" },
  { method: "POST", path: "tags", body: () => ({ name: "Important" }) },
  { method: "POST", path: "dns-records", body: ({ domain }) => ({ domain, ...record }) },
  { method: "POST", path: "forwarding", body: ({ domain }) => ({ domain, target_email: `ada@${domain}` }) },
  { method: "GET", path: "auth/service-accounts" },
  { method: "GET", path: "limits" },
];
/** The classes of limits of the paths that are not in the class `default`. */
const otherClasses: Readonly<Record<string, "outbound">> = { forwarding: "outbound" };

const send = (
  sender: Sender,
  { method, path, body }: Ask,
  { token }: { token: string } = sender.program,
): Promise<Seen> =>
  watch(() =>
    request(method, `/v1/public/accounts/${sender.id}/${path}`, { token, ...(body ? { body: body(sender) } : {}) }),
  );

/** Sends all requests of `asks` for an account, one after another. Calls `beside` at the same time as each of them. */
async function sendAll(sender: Sender, beside: () => Promise<unknown>): Promise<Seen[]> {
  const all: Seen[] = [];
  for (const ask of asks) {
    const [seen] = await Promise.all([send(sender, ask), beside()]);
    all.push(seen);
  }
  return all;
}

/**
 * The partitions whose name has no id of an account or a caller. Each text says why accounts do not wait for one
 * another in the partition.
 */
const partitions: Readonly<Record<string, string>> = {
  DOMAIN: "one for each name",
  TOKEN: "one for each token",
  INVITATION: "one for each invitation",
  VERIFICATION: "one for each proof",
  MAILED: "one for each address that gets mail, to limit what all accounts together send to it",
  USER: "one for each user: the accounts of the user",
  RATE: "one for each network from which somebody calls without a token",
  IP: "one for each address",
  IP_STOCK: "one item for each free address",
  FEEDBACK: "the operator's list of the feedback of all accounts, to which a caller adds ten at once and 30 a minute",
  ZONE: "embedded DNS: one for each name",
  REGISTRY: "embedded registrar: one for each name",
  CHECKOUT: "embedded payments: one for each checkout",
  CARD_SETUP: "embedded payments: one for each page",
  CARD: "embedded payments: one for each card",
  CHARGES: "embedded payments: one item for each charge",
  PAYMENT: "embedded payments: one for each payment",
  OUTBOX: "embedded mail: one item for each mail",
};

/** The items that neither name one of these ids nor are in a listed partition. */
const unlisted = (items: readonly string[], ids: readonly string[]): string[] =>
  items.filter(
    (item) => !ids.some((id) => item.includes(id)) && !Object.hasOwn(partitions, item.split(/[# ]/, 1)[0] ?? ""),
  );

describe("an account sends 900 of 1,000 requests in one moment:", () => {
  let alone: Seen[];
  let noisy: Sender;
  const quiet: { sender: Sender; all: Seen[] }[] = [];
  const noise: (Seen & { ask: Ask })[] = [];

  beforeAll(async () => {
    const [first, ...others] = (await Promise.all(Array.from({ length: 11 }, newSender))) as [Sender, ...Sender[]];
    noisy = await newSender();
    // No limit is refilled while the time stands still.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    alone = await sendAll(first, async () => undefined);
    const sendNine = async () => {
      const nine = Array.from({ length: 9 }, (_, index) => asks[(noise.length + index) % asks.length] as Ask);
      noise.push(...(await Promise.all(nine.map(async (ask) => ({ ask, ...(await send(noisy, ask)) })))));
    };
    for (const sender of others) quiet.push({ sender, all: await sendAll(sender, sendNine) });
  }, 60_000);

  afterAll(() => void vi.useRealTimers());

  // Calls are not compared: the process sends reads that begin at the same moment as one call.
  const costs = (all: readonly Seen[]) =>
    all.map(({ cost: { reads, writes }, answer: { status } }) => ({ status, reads, writes }));
  const refused = () => noise.filter(({ answer }) => answer.status === 429);

  test("the requests of the other accounts succeed, and consume as many units as in an account that is alone", () => {
    expect([noise.length, quiet.flatMap(({ all }) => all).length]).toEqual([900, 100]);
    expect(Math.max(...alone.map(({ answer }) => answer.status))).toBeLessThan(300);
    for (const { all } of quiet) expect(costs(all)).toEqual(costs(alone));
  });

  test("the account gets as many answers as its limits allow, and otherwise 429 with `Retry-After`", () => {
    const byClass = Map.groupBy(noise, ({ ask: { path } }) => otherClasses[path] ?? "default");
    for (const [name, all] of byClass) {
      expect(all.filter(({ answer }) => answer.status !== 429)).toHaveLength(limitClasses[name].burst);
    }
    for (const { answer } of refused()) expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  });

  test("a refused request reads only its token, once the process has refused an earlier request", () => {
    const late = refused().slice(-700);
    for (const { cost } of late) expect(cost).toEqual({ reads: 1, writes: 0, calls: 1 });
    for (const { cost } of refused()) expect(cost).toMatchObject({ writes: 0 });
    expect(Math.max(...refused().map(({ cost }) => cost.calls))).toBeLessThanOrEqual(2);
  });

  test("a refused program reads only its token, too", async () => {
    const code = `workspaces.list(account_id="${noisy.id}")`;
    const run = (request_id: string) =>
      watch(() =>
        request("POST", "/v1/public/a2a", { token: noisy.program.token, body: { request_id, session_id: "s", code } }),
      );
    await run("first");
    const { answer, cost } = await run("second");
    expect([answer.status, cost]).toEqual([429, { reads: 1, writes: 0, calls: 1 }]);
  });

  test("a refused request of a person makes no call of the table", async () => {
    const ask = asks.find(({ path }) => path === "forwarding") as Ask;
    const oneTooMany = Array.from({ length: limitClasses.outbound.burst + 1 }, () => send(noisy, ask, noisy.owner));
    expect((await Promise.all(oneTooMany)).filter(({ answer }) => answer.status === 429)).toHaveLength(1);
    const { answer, cost } = await send(noisy, ask, noisy.owner);
    expect([answer.status, cost]).toEqual([429, { reads: 0, writes: 0, calls: 0 }]);
  });

  test("no two accounts write the same item, and each item names its account or program, or has a listed partition", () => {
    const writers = new Map<string, string>();
    for (const { sender, all } of [...quiet, { sender: noisy, all: noise }]) {
      const items = all.flatMap(({ read, written }) => [...read, ...written]);
      expect(unlisted(items, [sender.id, sender.program.id])).toEqual([]);
      for (const item of all.flatMap(({ written }) => written)) {
        expect(writers.get(item) ?? sender.id, item).toBe(sender.id);
        writers.set(item, sender.id);
      }
    }
    expect(writers.size).toBeGreaterThan(300);
  });
});

test.each(sampleOf(routes, 15, "items of routes").map((route) => [route.name, route] as const))(
  "%s uses only items of its account, items of its caller, and items in listed partitions",
  async (_, route: Route) => {
    const account = await newAccount();
    const example = await exampleOf(route, account);
    const { answer, read, written } = await watch(() => callRest(route, example, account.owner.token));
    expect(answer.status).toBe(route.http.status);
    expect(unlisted([...read, ...written], [account.id, account.owner.id])).toEqual([]);
  },
);
