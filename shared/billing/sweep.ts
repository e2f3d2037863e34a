import * as z from "zod";

import { accountKey, accountsMatching, AccountPointer, StoredAccount } from "../accounts/account.ts";
import { getAccount } from "../accounts/visible.ts";
import { mapConcurrently } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import { type Day, dayMs, dayOf, hourMs, later, minuteMs } from "../core/time.ts";
import { withClaim } from "../table/claim.ts";
import { dueKey, dueWrite, readShard, type DueItem } from "../table/due.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Key, Write } from "../table/writes.ts";
import { BillingState, stateKey } from "../wallet/state.ts";
import { readWallet } from "../wallet/wallet.ts";
import { uninvoicedPurchases } from "./captured.ts";
import { billingQueue, closableAt, lastClosable, nextClosing } from "./due.ts";
import { runDailyTasks, type RunContext, tidyAccount } from "./run.ts";

/*
 * The daily run: closes the days of the accounts in the queue, one shard of the queue after the other. Several
 * processes can do this run together. A process claims a shard, so that two processes do not work on the same accounts.
 *
 * Access patterns
 *   the claim of a shard                         BILLING_DUE#<shard> / ~CLAIM
 *   how many accounts have been queued           BILLING_DUE#0 / ~QUEUED
 */
const claimKey = (shard: number): Key => ({ PK: `${billingQueue.name}#${shard}`, SK: "~CLAIM" });
const queuedKey: Key = { PK: `${billingQueue.name}#0`, SK: "~QUEUED" };

export type SweepContext = RunContext & { log: Log };
type SweepBounds = { atOnce?: number; budgetMs?: number; pageSize?: number };

/**
 * The result of a run over one shard, as numbers of accounts: `closed` (their days are closed), `failed`, and `waiting`
 * for their turn or for another try. `behind` counts the accounts that were due more than a day ago and whose days are
 * not closed. `is_done` says whether the run reached the end of the shard.
 */
export type ShardResult = { closed: number; failed: number; waiting: number; behind: number; is_done: boolean };

/** A task of the queue. `failures` and `retry_at` are set after a failed try. */
const Closing = z.object({ failures: z.int().default(0), retry_at: z.string().default("") });

/**
 * The time until a failed account is tried again, in milliseconds: 5 minutes, doubled with each failure, up to 6 hours.
 */
const retryAfterMs = (failures: number): number => Math.min(6 * hourMs, 5 * minuteMs * 2 ** Math.min(failures - 1, 10));

/**
 * Closes all days that can be closed, of all accounts in the queue, for `budgetMs` milliseconds at most.
 * - First puts the accounts that are not in the queue yet into the queue (`queueAccounts`).
 * - Then goes through the shards that no other process has claimed. The run begins with a different shard in each
 *   minute.
 * - An account that fails is logged and tried again later. Other accounts do not wait for it.
 * - A process may die at any time: its claim ends after `claimMs`, and another process goes on.
 */
export async function sweepBilling(context: SweepContext, bounds: SweepBounds = {}): Promise<ShardResult[]> {
  const { budgetMs = 240_000 } = bounds;
  const { log, now } = context;
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const queued = await queueAccounts(context, isOver);
  if (queued > 0) log.info("accounts queued for billing", { queued });
  const results: ShardResult[] = [];
  const first = Math.floor(now().getTime() / minuteMs);
  for (let turn = 0; turn < billingQueue.shards && !isOver(); turn++) {
    const shard = (first + turn) % billingQueue.shards;
    const result = await claimAndClose(shard, context, { ...bounds, isOver });
    if (!result) continue;
    results.push(result);
    // The alarm `BillingBehind` adds up `behind` of these lines. A line with a number above 0 is an error, so that the
    // alarm also works in a stage that logs only errors.
    log[result.behind > 0 ? "error" : "info"]("billing shard closed", { shard, ...result });
  }
  return results;
}

type ShardBounds = Pick<SweepBounds, "atOnce" | "pageSize"> & { isOver: () => boolean };

/** How long a claim lasts, in milliseconds. No worker runs this long, so a living process keeps its claim. */
const claimMs = 6 * minuteMs;

/** Sweeps a shard; undefined if no account of the shard is due, or if another process has claimed the shard. */
async function claimAndClose(
  shard: number,
  context: SweepContext,
  bounds: ShardBounds,
): Promise<ShardResult | undefined> {
  const { table, now, requestId } = context;
  const [earliest] = await readShard(table, billingQueue, shard, now(), { limit: 1 });
  if (!earliest) return undefined;
  const claim = { by: requestId, now, forMs: claimMs };
  return withClaim(table, claimKey(shard), claim, () => closeShard(shard, context, bounds));
}

/** Closes the days of the accounts of a shard that are due, the earliest account first. */
async function closeShard(
  shard: number,
  context: SweepContext,
  { atOnce = 8, pageSize = 500, isOver }: ShardBounds,
): Promise<ShardResult> {
  const { table, now } = context;
  const result: ShardResult = { closed: 0, failed: 0, waiting: 0, behind: 0, is_done: false };
  const aDayAgo = new Date(now().getTime() - dayMs).toISOString();
  for (let after: string | undefined; !result.is_done && !isOver();) {
    const page = await readShard(table, billingQueue, shard, now(), { limit: pageSize, after });
    const ready = page.filter(({ item }) => Closing.parse(item).retry_at <= now().toISOString());
    const closed = new Set<DueItem>();
    const tried = await mapConcurrently(
      ready,
      atOnce,
      async (task) => {
        if (await closeOne(task, context)) closed.add(task);
      },
      isOver,
    );
    result.closed += closed.size;
    result.failed += tried.length - closed.size;
    result.waiting += page.length - tried.length;
    result.behind += page.filter((task) => task.at < aDayAgo && !closed.has(task)).length;
    result.is_done = page.length < pageSize;
    after = page.at(-1)?.item.SK;
  }
  return result;
}

/** Closes the days of one account, and moves the account in the queue. Returns false after a failure. */
async function closeOne({ at, subject: [accountId = ""], item }: DueItem, context: SweepContext): Promise<boolean> {
  const { table, now, log } = context;
  try {
    await runDailyTasks(accountId, lastClosable(now()), context);
    await moveInQueue(accountId, at, context);
  } catch (error) {
    const failures = Closing.parse(item).failures + 1;
    log.error("billing day failed", { account_id: accountId, due_since: at, failures, error: String(error) });
    const set = { failures, retry_at: later(now(), retryAfterMs(failures)) };
    await table.attempt({ update: dueKey(billingQueue, [accountId], at), set, if: "present" });
    return false;
  }
  await tidyAccount(accountId, context);
  return true;
}

/**
 * Removes a finished task that is still in the queue. Normally the transaction that closes the days has moved the task.
 * But an earlier version may have closed the day of this task already. In this case this function also queues the
 * account's next day. An account with the status `closed` has no further days. But it stays in the queue, with a task
 * for the next day, while one of its purchases is still to be invoiced or paid (`isPending`).
 */
async function moveInQueue(accountId: string, at: string, { table, now }: SweepContext): Promise<void> {
  const due = dueKey(billingQueue, [accountId], at);
  if ((await table.get(due, Closing)) === undefined) return;
  await table.commit(async () => {
    const { next, firstOpen, unchanged } = await readNext(accountId, table, now());
    if (next === at) {
      // The account is due for the end of its plan, but has a plan again. Its first open day ends later.
      if (firstOpen > lastClosable(now())) return { value: undefined, writes: [] };
      throw new Error("The day was not closed.");
    }
    const moved = next === null ? [] : [dueWrite(billingQueue, [accountId], next)];
    return { value: undefined, writes: [{ delete: due }, ...moved, unchanged] };
  });
}

/**
 * The time of an account's next task, its first day that is not closed, and the write that makes a transaction fail if
 * a day was closed meanwhile.
 */
async function readNext(
  accountId: string,
  table: Reader,
  now: Date,
): Promise<{ next: string | null; firstOpen: Day; unchanged: Write }> {
  const [account, state] = await Promise.all([
    getAccount(table, accountId),
    table.get(stateKey(accountId), BillingState),
  ]);
  const unchanged: Write = { check: stateKey(accountId), if: state ? { version: state.version } : "absent" };
  const next = nextClosing(account, state);
  const staysQueued = next === null && state !== undefined && (await isPending(accountId, state, table, now));
  const firstOpen = state?.accrue_from ?? dayOf(new Date(account.created_at));
  return { next: staysQueued ? closableAt(dayOf(now)) : next, firstOpen, unchanged };
}

/** Whether a closed account has a purchase that is on no invoice, or an amount that is held for a purchase. */
async function isPending(accountId: string, state: BillingState, table: Reader, now: Date): Promise<boolean> {
  // The wallet is read before the purchases. So if a hold is captured meanwhile, either the hold or its payment is
  // found.
  const { posted, available } = await readWallet(table, accountId);
  if (posted > available) return true;
  return (await uninvoicedPurchases(table, accountId, state, dayOf(now))).purchases.length > 0;
}

const Queued = z.object({ count: z.int(), version: z.int() });

/** How many accounts one transaction queues. */
const queuedAtOnce = 50;

/**
 * Puts the accounts that were created before there was a queue into the queue, oldest first, until `isOver` returns
 * true. Each transaction also stores how many accounts have been queued, so that a later call continues with the next
 * account. An account that is queued already keeps its place.
 */
export async function queueAccounts(
  { table, now }: Pick<SweepContext, "table" | "now">,
  isOver: () => boolean,
): Promise<number> {
  let queued = 0;
  for (let isMore = true; isMore && !isOver();) {
    const count = await table.commit(async () => {
      const { count, version } = (await table.get(queuedKey, Queued)) ?? { count: 0, version: 0 };
      const { rows } = await readRows(table, accountsMatching({}), { skip: count, take: queuedAtOnce });
      if (rows.length === 0) return { value: 0, writes: [] };
      const ids = rows.map((row) => AccountPointer.parse(row).account_id);
      const accounts = await table.getMany(ids.map(accountKey));
      const states = await table.getMany(ids.map(stateKey));
      const due = ids.map((id, index) => ({ id, next: firstTask(accounts[index], states[index], now()) }));
      const cursor = { ...queuedKey, count: count + ids.length, version: version + 1 };
      return {
        value: ids.length,
        writes: [
          { put: cursor, if: version === 0 ? "absent" : { version } },
          ...due.flatMap(({ id, next }) => (next === null ? [] : [dueWrite(billingQueue, [id], next)])),
        ],
      };
    });
    queued += count;
    isMore = count === queuedAtOnce;
  }
  return queued;
}

/**
 * The time of the first task of an account; null for a closed account. An account whose items cannot be read is due at
 * once: its task then fails and is logged. The other accounts are queued all the same.
 */
function firstTask(account: Item | undefined, state: Item | undefined, now: Date): string | null {
  const read = StoredAccount.pick({ status: true, created_at: true }).safeParse(account);
  const days = BillingState.pick({ accrue_from: true, plans: true, ended_on: true }).optional().safeParse(state);
  return read.success && days.success ? nextClosing(read.data, days.data) : now.toISOString();
}
