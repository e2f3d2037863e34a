import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { createAccount, setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { billingQueue, closableAt, lastClosable, moveClosing } from "../../../shared/billing/due.ts";
import { cancelPlan, changePlan } from "../../../shared/billing/plan.ts";
import { runAccount } from "../../../shared/billing/run.ts";
import { queueAccounts, sweepBilling, type ShardResult } from "../../../shared/billing/sweep.ts";
import { systemAuthor } from "../../../shared/changes/record.ts";
import { recorder } from "../../../shared/changes/recorder.ts";
import { dayMs, minuteMs, plusDays } from "../../../shared/core/time.ts";
import type { Context } from "../../../shared/http/route.ts";
import { BillingState, stateKey } from "../../../shared/wallet/state.ts";
import { planWallet, type Posting } from "../../../shared/wallet/wallet.ts";
import {
  createMemoryStore,
  everything,
  type MemoryStore,
  openMemoryTable,
  type Step,
} from "../../support/memory-table.ts";
import { addUsage } from "../../support/usage.ts";

const created = "2026-01-20";

type Line = { level: string; message: string; fields: Record<string, unknown> };

/** A new table with accounts that were created on 20 January, each with one mailbox, and a clock. */
async function newScene(count: number, { isQueued = true } = {}) {
  const store = createMemoryStore();
  const table = openMemoryTable(store);
  const clock = { at: new Date(`${created}T12:00:00Z`) };
  const now = (): Date => clock.at;
  const lines: Line[] = [];
  const note =
    (level: string) =>
    (message: string, fields = {}): void =>
      void lines.push({ level, message, fields });
  const log = { debug: note("debug"), info: note("info"), error: note("error") };
  const client = { id: randomUUID(), name: "A client" };
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    await createAccount(table, { id, client, name: "An account", ownerId: randomUUID() }, now());
    await addUsage(table, id, { mailboxes: 1 });
  }
  if (isQueued) await queueAccounts({ table, now }, () => false);
  const sweepBy = (by: typeof table, bounds = {}) =>
    sweepBilling({ table: by, now, log, requestId: randomUUID() }, bounds);
  return {
    store,
    table,
    ids,
    lines,
    now,
    /** Moves the clock to a time of a day. */
    at: (day: string, time = "12:00:00") => void (clock.at = new Date(`${day}T${time}Z`)),
    pass: (ms: number) => void (clock.at = new Date(clock.at.getTime() + ms)),
    sweep: (bounds = {}) => sweepBy(table, bounds),
    sweepBy,
    closedDays: async () => {
      const states = await Promise.all(ids.map((id) => table.get(stateKey(id), BillingState)));
      return states.map((state) => state && plusDays(state.accrue_from, -1));
    },
  };
}

type Scene = Awaited<ReturnType<typeof newScene>>;

const texts = { code: "purchase", type: "purchase", description: "It" } as const;

/** A payment of 90.00 into the wallet. */
const money: Posting = { kind: "transfer", id: "money", debit: "payments", credit: "wallet", amount: 9_000, ...texts };

const postTo = ({ table, now }: Pick<Scene, "table" | "now">, accountId: string, ...postings: Posting[]) =>
  table.commit(async () => {
    const { writes } = await planWallet(table, accountId, postings, now());
    return { value: undefined, writes };
  });

/** The account and the due time of each task in the queue. Rows with a key that begins with `~` are no tasks. */
const queueOf = (store: MemoryStore): [account: string, at: string][] =>
  everything(store)
    .filter(({ PK, SK }) => PK.startsWith(`${billingQueue.name}#`) && !SK.startsWith("~"))
    .map(({ SK }) => SK.split("#"))
    .map(([at = "", id = ""]): [string, string] => [id, at])
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

/** Each account with the same value, in the order of `queueOf`. */
const each = <T>(ids: readonly string[], value: T): [string, T][] =>
  ids.toSorted().map((id): [string, T] => [id, value]);

const sum = (results: readonly ShardResult[], member: "closed" | "failed" | "waiting" | "behind"): number =>
  results.reduce((total, result) => total + result[member], 0);

const invoicesIn = (store: MemoryStore): number =>
  everything(store).filter(({ SK }) => SK.startsWith("LIST#invoices#ROW#")).length;

test("an account's day is closed 20 minutes after its end, and the account then waits for the end of the next day", async () => {
  const { store, ids, at, sweep, closedDays } = await newScene(3);
  expect(queueOf(store)).toEqual(each(ids, `2026-01-21T00:20:00.000Z`));
  at("2026-01-21", "00:19:59");
  expect(await sweep()).toEqual([]);
  at("2026-01-21", "00:20:00");
  expect(sum(await sweep(), "closed")).toBe(3);
  expect(await closedDays()).toEqual([created, created, created]);
  expect(queueOf(store)).toEqual(each(ids, closableAt("2026-01-21")));
  expect(await sweep()).toEqual([]);
});

test("a closed account stays in the queue while amounts are held, and payments from these amounts are on an invoice", async () => {
  const { store, table, ids, at, now, sweep } = await newScene(1);
  const [accountId = ""] = ids;
  const post = (...postings: Posting[]) => postTo({ table, now }, accountId, ...postings);
  await post(money);
  await post({ kind: "hold", id: "name", debit: "wallet", credit: "revenue", amount: 1_400, ...texts });
  await setAccountStatus(table, accountId, "closed", now());
  expect(queueOf(store)).toEqual([[accountId, closableAt(created)]]);
  for (const day of ["2026-01-21", "2026-01-22"]) {
    at(day);
    expect(sum(await sweep(), "closed")).toBe(1);
    expect([queueOf(store), invoicesIn(store)]).toEqual([[[accountId, closableAt(day)]], 1]);
  }
  await post({ kind: "capture", id: "name" });
  at("2026-01-23");
  expect(sum(await sweep(), "closed")).toBe(1);
  expect([queueOf(store), invoicesIn(store)]).toEqual([[], 2]);
});

/** The context of an operation of the API in an account. */
function contextOf({ table, now }: Scene, accountId: string): Context {
  const commit = recorder({ table, accountId, author: systemAuthor("test", "test", randomUUID()), now });
  return { table, now, commit, requestId: randomUUID() } as unknown as Context;
}

/** Cancels the plan of an account today, through the operation of the API. */
const cancelToday = (scene: Scene, accountId: string): Promise<unknown> =>
  cancelPlan(accountId, true, contextOf(scene, accountId));

/** The first day without a plan, if the end of the plan is recorded. */
const endOf = async ({ table }: Scene, id: string) => (await table.get(stateKey(id), BillingState))?.ended_on;

test("the end of a plan that is cancelled immediately is recorded on the next day, and then each day is closed", async () => {
  const scene = await newScene(1);
  const [id = ""] = scene.ids;
  await cancelToday(scene, id);
  expect(queueOf(scene.store)).toEqual([[id, closableAt(created)]]);
  scene.at("2026-01-21", "00:19:59");
  expect(await scene.sweep()).toEqual([]);
  scene.at("2026-01-21", "00:20:00");
  expect(sum(await scene.sweep(), "closed")).toBe(1);
  expect(await endOf(scene, id)).toBe("2026-01-21");
  for (const day of ["2026-01-21", "2026-01-22"]) {
    expect(queueOf(scene.store)).toEqual([[id, closableAt(day)]]);
    scene.at(plusDays(day, 1));
    expect(sum(await scene.sweep(), "closed")).toBe(1);
    expect(await endOf(scene, id)).toBe("2026-01-21");
  }
  expect(await scene.closedDays()).toEqual(["2026-01-22"]);
});

test("a run on the day of an immediate cancellation does not record the end of the plan", async () => {
  const scene = await newScene(1);
  const [id = ""] = scene.ids;
  await cancelToday(scene, id);
  await runAccount(id, lastClosable(scene.now()), { table: scene.table, now: scene.now, requestId: randomUUID() });
  expect(await endOf(scene, id)).toBeUndefined();
  expect(queueOf(scene.store)).toEqual([[id, closableAt(created)]]);
});

test("a plan that begins again two days after an immediate cancellation is no failure of the day between", async () => {
  const scene = await newScene(1);
  const [id = ""] = scene.ids;
  await postTo(scene, id, money);
  await cancelToday(scene, id);
  scene.at("2026-01-21");
  await changePlan(id, "per_mailbox", "2026-01-22", contextOf(scene, id));
  scene.at("2026-01-22", "00:10:00");
  expect(sum(await scene.sweep(), "failed")).toBe(0);
  scene.at("2026-01-22", "00:30:00");
  expect(sum(await scene.sweep(), "closed")).toBe(1);
  expect(await scene.closedDays()).toEqual(["2026-01-21"]);
  expect(queueOf(scene.store)).toEqual([[id, closableAt("2026-01-22")]]);
});

test("the operator suspends an account whose billing row cannot be read", async () => {
  const { table, ids, now } = await newScene(1);
  const [id = ""] = ids;
  await table.attempt({ put: { ...stateKey(id), plans: "broken", version: 1 } });
  expect(await setAccountStatus(table, id, "suspended", now())).toMatchObject({ status: "suspended" });
});

test("an account that an earlier version queued a day later is closed once, and stays in the queue once", async () => {
  const scene = await newScene(1);
  const [id = ""] = scene.ids;
  await cancelToday(scene, id);
  const move = moveClosing(id, created, "2026-01-21");
  await scene.table.commit(async () => ({ value: undefined, writes: move }));
  scene.at("2026-01-22");
  expect(sum(await scene.sweep(), "closed")).toBe(1);
  expect(queueOf(scene.store)).toEqual([[id, closableAt("2026-01-22")]]);
  expect(await scene.closedDays()).toEqual(["2026-01-21"]);
});

test("days that were skipped are closed by one run, month by month", async () => {
  const { store, ids, at, sweep, closedDays } = await newScene(2);
  at("2026-04-10");
  expect(sum(await sweep(), "closed")).toBe(2);
  expect(await closedDays()).toEqual(["2026-04-09", "2026-04-09"]);
  expect(queueOf(store)).toEqual(each(ids, closableAt("2026-04-10")));
  expect(invoicesIn(store)).toBe(6);
});

test("an account whose day cannot be closed is tried again after longer and longer waits, and delays no other account", async () => {
  const { store, table, ids, lines, at, pass, sweep, closedDays } = await newScene(4);
  const [bad = ""] = ids;
  await table.attempt({ put: { ...stateKey(bad), plans: "broken", version: 1 } });
  at("2026-02-01", "00:20:00");
  const first = await sweep();
  expect([sum(first, "closed"), sum(first, "failed")]).toEqual([3, 1]);
  expect(lines.filter(({ message }) => message === "billing day failed")).toMatchObject([
    { level: "error", fields: { account_id: bad, failures: 1 } },
  ]);
  pass(4 * minuteMs);
  const early = await sweep();
  expect([sum(early, "failed"), sum(early, "waiting")]).toEqual([0, 1]);
  pass(minuteMs);
  expect(sum(await sweep(), "failed")).toBe(1);
  pass(9 * minuteMs);
  expect(sum(await sweep(), "failed")).toBe(0);
  await table.attempt({ delete: stateKey(bad) });
  pass(minuteMs);
  expect(sum(await sweep(), "closed")).toBe(1);
  expect(await closedDays()).toEqual(ids.map(() => "2026-01-31"));
  expect(queueOf(store)).toEqual(each(ids, closableAt("2026-02-01")));
});

test("a run reaches the accounts in the queue behind those that wait for another try", async () => {
  const { table, ids, at, sweep } = await newScene(8);
  for (const id of ids.slice(0, 6)) await table.attempt({ put: { ...stateKey(id), plans: "broken", version: 1 } });
  at("2026-02-01");
  expect(sum(await sweep({ pageSize: 1, budgetMs: 60_000 }), "closed")).toBe(2);
});

test("a run logs how many accounts have waited for more than a day", async () => {
  const { table, ids, lines, at, pass, sweep } = await newScene(2);
  await table.attempt({ put: { ...stateKey(ids[0] ?? ""), plans: "broken", version: 1 } });
  at("2026-01-21", "00:20:00");
  expect(sum(await sweep(), "behind")).toBe(0);
  pass(dayMs + 1);
  expect(sum(await sweep(), "behind")).toBe(1);
  const shards = lines.filter(({ message, fields }) => message === "billing shard closed" && fields["behind"] === 1);
  // A stage with the log level `error` needs this line too, because the alarm counts it.
  expect(shards.map(({ level }) => level)).toEqual(["error"]);
});

test("a run ends when its time is over, and the next run closes the days of the other accounts", async () => {
  const { at, sweep, closedDays, ids } = await newScene(3);
  at("2026-01-21");
  expect(await sweep({ budgetMs: -1 })).toEqual([]);
  expect(sum(await sweep(), "closed")).toBe(3);
  expect(await closedDays()).toEqual(ids.map(() => created));
});

test("if two workers run at once, the day of each account is closed by only one of them", async () => {
  const { at, sweep, store } = await newScene(12);
  at("2026-02-01");
  const results = (await Promise.all([sweep(), sweep()])).flat();
  expect([sum(results, "closed"), sum(results, "failed")]).toEqual([12, 0]);
  expect(invoicesIn(store)).toBe(12);
});

test("if a worker dies, another worker continues after the claim has ended, and bills each month once", async () => {
  const never = new Promise<undefined>(() => undefined);
  for (let place = 0, hasDied = true; hasDied; place += 3) {
    const scene = await newScene(2, { isQueued: false });
    const { store, ids, at, pass, sweep, sweepBy, closedDays } = scene;
    at("2026-02-01");
    let steps = 0;
    hasDied = false;
    let died: () => void = () => undefined;
    const death = new Promise<void>((resolve) => (died = resolve));
    const step: Step = () => {
      if (steps++ < place) return Promise.resolve(undefined);
      hasDied = true;
      died();
      return never;
    };
    await Promise.race([sweepBy(openMemoryTable(store, { step }), { atOnce: 1 }), death]);
    pass(7 * minuteMs);
    await sweep();
    expect([place, await closedDays()]).toEqual([place, ids.map(() => "2026-01-31")]);
    expect(queueOf(store)).toEqual(each(ids, closableAt("2026-02-01")));
    expect(invoicesIn(store)).toBe(2);
  }
});

test("accounts of earlier versions are put into the queue, and an interrupted pass is continued", async () => {
  const { store, table, ids, now, at, sweep, closedDays } = await newScene(120, { isQueued: false });
  for (const [id, due] of queueOf(store)) {
    const { PK = "" } = everything(store).find(({ SK }) => SK === `${due}#${id}`) ?? {};
    await table.attempt({ delete: { PK, SK: `${due}#${id}` } });
  }
  expect(queueOf(store)).toEqual([]);
  let calls = 0;
  expect(await queueAccounts({ table, now }, () => calls++ > 0)).toBe(50);
  expect(queueOf(store)).toHaveLength(50);
  at("2026-01-21");
  expect(sum(await sweep(), "closed")).toBe(120);
  expect(await closedDays()).toEqual(ids.map(() => created));
  expect(queueOf(store)).toEqual(each(ids, closableAt("2026-01-21")));
  expect(await queueAccounts({ table, now }, () => false)).toBe(0);
});

test("a task for a day that is already closed leaves the queue", async () => {
  const { store, table, ids, at, sweep } = await newScene(1);
  const task = everything(store).find(({ SK }) => SK.endsWith(`#${ids[0]}`) && SK.startsWith("2026"));
  at("2026-01-21");
  await sweep();
  await table.attempt({ put: { ...task, PK: task?.PK ?? "", SK: task?.SK ?? "" } });
  expect(queueOf(store)).toHaveLength(2);
  expect(sum(await sweep(), "closed")).toBe(1);
  expect(queueOf(store)).toEqual(each(ids, closableAt("2026-01-21")));
});

test("a closed account without held amounts leaves the queue", async () => {
  const { store, table, ids, now } = await newScene(2);
  await setAccountStatus(table, ids[0] ?? "", "closed", now());
  expect(queueOf(store).map(([id]) => id)).toEqual([ids[1]]);
});

test("a day can be closed 20 minutes after its end", () => {
  expect(lastClosable(new Date("2026-03-01T00:19:59.999Z"))).toBe("2026-02-27");
  expect(lastClosable(new Date("2026-03-01T00:20:00.000Z"))).toBe("2026-02-28");
});
