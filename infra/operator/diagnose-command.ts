import { randomUUID } from "node:crypto";

import * as z from "zod";

import { route as getAccount } from "../../functions/accounts/get.ts";
import { route as listAudit } from "../../functions/audit/list.ts";
import { route as listMembers } from "../../functions/auth/members/list.ts";
import { route as getPlan } from "../../functions/billing/current-plan/get.ts";
import { route as getWallet } from "../../functions/billing/wallet-balance/get.ts";
import { route as listDomains } from "../../functions/domains/list.ts";
import { route as getLimits } from "../../functions/limits/get.ts";
import { route as listMailboxes } from "../../functions/mailboxes/list.ts";
import { route as listSuppressions } from "../../functions/suppressions/list.ts";
import { route as listWebhooks } from "../../functions/webhooks/list.ts";
import { getAccount as requireAccount } from "../../shared/accounts/visible.ts";
import { billingQueue } from "../../shared/billing/due.ts";
import { rechargeQueue } from "../../shared/billing/recharges/payment-method.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock, dayOf, plusDays } from "../../shared/core/time.ts";
import { ipQueue, operationQueue } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { batchQueue, dkimQueue, domainQueue, transferQueue } from "../../shared/domains/domain.ts";
import { zoneQueue } from "../../shared/domains/zone.ts";
import { grantQueue } from "../../shared/grants/assignments.ts";
import type { Context, Route } from "../../shared/http/route.ts";
import { mailboxQueue } from "../../shared/mail/mailboxes/deleted.ts";
import { limitClassNames } from "../../shared/rate-limits/classes.ts";
import { rateKey } from "../../shared/rate-limits/limiter.ts";
import { dueKey } from "../../shared/table/due.ts";
import type { Table } from "../../shared/table/table.ts";
import { checkoutQueue } from "../../shared/wallet/topup.ts";
import { failingAmong } from "../../shared/webhooks/outcome.ts";
import { webhookQueue } from "../../shared/webhooks/schedule.ts";
import { type Command, accountOption } from "./commands.ts";

const queues = [
  billingQueue,
  rechargeQueue,
  checkoutQueue,
  domainQueue,
  dkimQueue,
  transferQueue,
  batchQueue,
  zoneQueue,
  ipQueue,
  operationQueue,
  mailboxQueue,
  grantQueue,
  webhookQueue,
];

const pageSize = 100;
const auditEntries = 20;

const refuse = (): never => {
  throw new Error("A diagnosis must not change anything.");
};

/** A context in which a route can read everything in an account, and change nothing. */
const readingContext = (table: Table): Context => ({
  principal: { type: "user", id: randomUUID(), email: "", groups: [] },
  permissions: { member: true, everything: true, superAdmin: true, grants: [] },
  requestId: randomUUID(),
  table,
  commit: refuse,
  answer: refuse,
  chargeClass: async () => {},
  log: createLog("silent", {}),
  now: clock,
});

const AnswerPage = z.object({ items: z.array(z.record(z.string(), z.unknown())), total: z.int() });
type Row = Record<string, unknown>;

/**
 * The answer of a route about an account. The route's output schema leaves out data that customers do not see, such as
 * secrets.
 */
async function readRoute(table: Table, route: Route, accountId: string, query: Row = {}): Promise<unknown> {
  const input = {
    params: route.params.parse({ account_id: accountId }),
    query: route.query.parse(query),
    body: {},
    found: undefined,
  };
  return route.output.parse(await route.run(input, readingContext(table)));
}

const readPage = async (table: Table, route: Route, accountId: string, query: Row) =>
  AnswerPage.parse(await readRoute(table, route, accountId, query));

/** All rows of a list, and their number. */
async function readAll(table: Table, route: Route, accountId: string): Promise<z.output<typeof AnswerPage>> {
  const items: Row[] = [];
  for (let page = 1; ; page++) {
    const read = await readPage(table, route, accountId, { page, page_size: pageSize });
    items.push(...read.items);
    if (read.items.length < pageSize) return { items, total: read.total };
  }
}

const pick = (row: Row, ...names: string[]): Row => Object.fromEntries(names.map((name) => [name, row[name] ?? null]));

/** Counts the rows by the value of a member. */
const countBy = (rows: readonly Row[], name: string): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(rows, (row) => String(row[name]))].map(([value, group]) => [value, group.length] as const),
  );

/**
 * The due work of the account: for each queue, the number of due tasks and the time of the oldest task. Of each queue,
 * reads the oldest 10,000 due tasks at most.
 */
async function overdue(table: Table, accountId: string): Promise<Row[]> {
  const now = clock().toISOString();
  const found = await Promise.all(
    queues.map(async (queue) => {
      const { PK: partition } = dueKey(queue, [accountId], now);
      const items = await table.between(partition, "!", `${now}~`, { limit: 10_000 });
      // A sort key is `<due time>#<account id>#…`.
      const ours = items.map(({ SK }) => SK.split("#")).filter(([, account]) => account === accountId);
      return { queue: queue.name, tasks: ours.length, oldest: ours[0]?.[0] ?? null };
    }),
  );
  return found.filter(({ tasks }) => tasks > 0);
}

/** A bucket of a rate limit. `tat` is the time at which the bucket is empty, in milliseconds since 1970. */
const StoredRate = z.object({ tat: z.number() });

/** The rate-limit buckets of some members of the account, without empty buckets. */
async function rateLimits(table: Table, accountId: string, memberIds: readonly string[]): Promise<Row[]> {
  const names = memberIds.flatMap((id) =>
    limitClassNames.flatMap((name) => [`${id}#${name}`, `${id}#${name}#${accountId}`]),
  );
  const items = await table.getMany(names.map(rateKey));
  const now = clock().getTime();
  return items.flatMap((item, index) => {
    const { data } = StoredRate.safeParse(item);
    if (data === undefined || data.tat <= now) return [];
    return [{ bucket: names[index], empty_in_seconds: Math.ceil((data.tat - now) / 1_000) }];
  });
}

/** The webhooks that are disabled or failing. */
async function troubledWebhooks(table: Table, accountId: string): Promise<Row[]> {
  const { items } = await readAll(table, listWebhooks, accountId);
  const refs = items.map(({ id }) => ({ account_id: accountId, webhook_id: String(id) }));
  const failing = await failingAmong(table, refs);
  return items
    .filter(({ id, status }) => status !== "active" || failing.has(String(id)))
    .map((row) => ({ ...pick(row, "id", "status", "disabled_reason"), failing: failing.has(String(row["id"])) }));
}

/** The days of the last week on which people got mails about the account, by category. */
async function recentNotices(table: Table, accountId: string): Promise<Row[]> {
  const from = plusDays(dayOf(clock()), -7);
  const items = await table.between(`ACCOUNT#${accountId}`, `NOTICES#${from}`, "NOTICES#~");
  return items.map(({ SK }) => {
    const [, day, category] = SK.split("#");
    return { day, category };
  });
}

const RunningOrder = z.object({ status: z.literal("running") });

/** Whether a registration, a transfer or a renewal of the domain is running. */
const hasOpenOrder = ({ status, renewal, transfer }: Row): boolean =>
  ["pending_registration", "pending_transfer"].includes(String(status)) ||
  [renewal, transfer].some((order) => RunningOrder.safeParse(order).success);

/** Gathers the first facts about an account that support needs. */
async function diagnose(table: Table, accountId: string): Promise<Row> {
  await requireAccount(table, accountId);
  const [account, plan, wallet, limits, domains, mailboxes, audit, suppressions, members] = await Promise.all([
    readRoute(table, getAccount, accountId),
    readRoute(table, getPlan, accountId),
    readRoute(table, getWallet, accountId),
    readRoute(table, getLimits, accountId),
    readAll(table, listDomains, accountId),
    readPage(table, listMailboxes, accountId, { page_size: 1 }),
    readPage(table, listAudit, accountId, { page_size: auditEntries }),
    readPage(table, listSuppressions, accountId, { page_size: 10, order: "desc" }),
    readAll(table, listMembers, accountId),
  ]);
  const broken = domains.items.filter(({ broken_records: records }) => Array.isArray(records) && records.length > 0);
  return {
    account,
    plan,
    wallet,
    domains: { total: domains.total, by_status: countBy(domains.items, "status") },
    broken_domains: broken.map((row) => pick(row, "id", "name", "status", "broken_records")),
    open_orders: domains.items
      .filter(hasOpenOrder)
      .map((row) => pick(row, "id", "name", "status", "renewal", "transfer")),
    mailboxes: { total: mailboxes.total },
    members: { total: members.total },
    limits,
    rate_limits: await rateLimits(
      table,
      accountId,
      members.items.map(({ subject_id: id }) => String(id)),
    ),
    overdue_work: await overdue(table, accountId),
    webhooks_in_trouble: await troubledWebhooks(table, accountId),
    suppressions: { total: suppressions.total },
    recent_suppressions: suppressions.items.map((row) => pick(row, "email", "reason", "status", "created_at")),
    recent_notices: await recentNotices(table, accountId),
    recent_changes: audit.items.map((row) => pick(row, "occurred_at", "action", "event_type", "actor", "resource")),
  };
}

/** The operator's command that diagnoses an account. */
export const diagnoseCommands: Record<string, Command> = {
  "account diagnose": {
    summary: `Show the first facts that support needs about an account: status, money, domains, due work, webhooks, the last ${auditEntries} changes. Changes nothing.`,
    options: { account: accountOption },
    needsStage: () => true,
    run: (table, { account = "" }) => diagnose(table, account),
  },
};
