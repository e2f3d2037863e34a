import * as z from "zod";

import { type Change, change } from "../../changes/kind.ts";
import { recordWrites, systemAuthor } from "../../changes/record.ts";
import { Id } from "../../core/ids.ts";
import { dayMs, dayOf, type Day, minuteMs } from "../../core/time.ts";
import { ipKey } from "../../dedicated-ips/dedicated-ip.ts";
import { sendingIpIds } from "../../dedicated-ips/relay.ts";
import { domainKey, StoredDomain } from "../../domains/domain.ts";
import { countMail } from "../../statistics/statistics.ts";
import { Counters } from "../../table/counters.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { deletedById } from "../mailboxes/deleted.ts";
import { mailboxKey, mailboxKind, StoredMailbox } from "../mailboxes/mailbox.ts";
import { quotaStep } from "../mailboxes/quota.ts";
import { mailboxCore } from "../mailboxes/view.ts";
import {
  BatchId,
  cutIntoPieces,
  type Batch,
  batchAnswer,
  type Ignored,
  ReportedTime,
  runBatch,
} from "../servers/batch.ts";
import { sentByKey, sentExpiry, sentKey } from "./sent.ts";

const mailbox = { mailbox_id: Id, account_id: Id, at: ReportedTime };

/**
 * A batch of usage:
 * - `mailboxes`: the bytes and mails in a mailbox at a time
 * - `sent`: a mail that a mailbox sent, with the number of its recipients, and the dedicated IP from which it left
 * - `logins`: a login to a mailbox
 */
export const UsageBatch = z.strictObject({
  batch_id: BatchId,
  mailboxes: z.array(z.strictObject({ ...mailbox, bytes: z.int().min(0), messages: z.int().min(0) })).default([]),
  sent: z
    .array(
      z.strictObject({
        ...mailbox,
        address: z.string().min(1).max(320),
        recipients: z.int().min(1).max(100_000),
        dedicated_ip_id: Id.nullable().optional(),
      }),
    )
    .default([]),
  logins: z.array(z.strictObject({ ...mailbox, protocol: z.enum(["smtp", "imap", "pop", "pop3"]) })).default([]),
});
type UsageBatch = z.output<typeof UsageBatch>;

type Usage = Pick<UsageBatch["mailboxes"][number], "bytes" | "messages" | "at">;

/**
 * All entries of a batch about one mailbox, one day and one dedicated IP, put together. `entries` are the places of
 * these entries in the batch.
 */
type Unit = {
  accountId: string;
  mailboxId: string;
  day: Day;
  /**
   * The dedicated IP from which the mail left, as the mail server says. Null if the mail left from no dedicated IP,
   * undefined if the mail server does not say.
   */
  ipId: string | null | undefined;
  usage?: Usage;
  loginAt?: string;
  sent: number;
  entries: Pick<Ignored, "list" | "index">[];
};

/**
 * Puts the entries of each mailbox, day and dedicated IP together. The order of the units follows from the entries
 * alone.
 */
function unitsOf({ mailboxes, sent, logins }: UsageBatch): Unit[] {
  const units = new Map<string, Unit>();
  const unitFor = (
    entry: { account_id: string; mailbox_id: string; at: string; dedicated_ip_id?: string | null | undefined },
    list: string,
    index: number,
  ): Unit => {
    const { account_id: accountId, mailbox_id: mailboxId, dedicated_ip_id: ipId } = entry;
    const day = entry.at.slice(0, "yyyy-mm-dd".length);
    const key = `${accountId}#${mailboxId}#${day}#${ipId === undefined ? "" : ipId}`;
    const unit = units.get(key) ?? { accountId, mailboxId, day, ipId, sent: 0, entries: [] };
    unit.entries.push({ list, index });
    units.set(key, unit);
    return unit;
  };
  for (const [index, entry] of mailboxes.entries()) {
    const unit = unitFor(entry, "mailboxes", index);
    if (unit.usage === undefined || Date.parse(unit.usage.at) <= Date.parse(entry.at)) unit.usage = entry;
  }
  for (const [index, entry] of sent.entries()) unitFor(entry, "sent", index).sent += entry.recipients;
  for (const [index, entry] of logins.entries()) {
    const unit = unitFor(entry, "logins", index);
    if (unit.loginAt === undefined || Date.parse(unit.loginAt) < Date.parse(entry.at)) unit.loginAt = entry.at;
  }
  return [...units].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, unit]) => unit);
}

/**
 * The most writes of a unit. A measurement takes three: the mailbox, its event, and the counter of the account's
 * events. A login without a measurement takes one: the mailbox. Sent mail takes four counters: of the account, the
 * mailbox, the domain and the dedicated IP.
 */
function writesOf({ usage, loginAt, sent }: Unit): number {
  const ofLogin = loginAt === undefined ? 0 : 1;
  return (usage ? 3 : ofLogin) + (sent > 0 ? 4 : 0);
}

type ReportWork = { table: Table; now: () => Date };

/**
 * Stores the reports of mail servers about mailboxes. The answer says which entries are ignored, with the reason.
 * - `unknown_mailbox`: the account has no such mailbox.
 * - `deleted_mailbox`: the account has deleted the mailbox. Mails that the mailbox sent still count.
 *
 * The effects:
 * - A measurement that is not newer than the stored measurement changes nothing.
 * - Sent mail is counted for the dedicated IP that the entry names, if the account has this IP. With null, the mail is
 *   counted for no IP. Without the member, the mail is counted for the dedicated IP from which the domain sends.
 * - Sent mail is billed for the day of the report. The mailbox's own count has the mail on the day on which the mailbox
 *   sent it. Mail of a day more than 30 days ago is only billed.
 *
 * Throws 422 for another batch with the same id. If a part of the batch fails, the other parts are still done, and then
 * the error is thrown.
 */
export async function reportUsage({ content, fingerprint }: Batch<UsageBatch>, work: ReportWork) {
  const { batch_id: batchId, ...lists } = content;
  const pieces = cutIntoPieces(unitsOf(content), writesOf);
  const ignored = await runBatch({ batchId, fingerprint, pieces, plan: (units) => planUnits(units, work) }, work);
  return batchAnswer(lists, ignored);
}

/** What one piece of the batch writes. `changes` are by account. `ignored` are the entries without effect. */
type Piece = { counters: Counters; changes: Map<string, Change[]>; writes: Write[]; ignored: Ignored[]; now: Date };

async function planUnits(
  units: readonly Unit[],
  { table, now }: ReportWork,
): Promise<{ writes: Write[]; ignored: Ignored[] }> {
  const piece: Piece = { counters: new Counters(), changes: new Map(), writes: [], ignored: [], now: now() };
  const unitsByMailbox = [...Map.groupBy(units, ({ accountId, mailboxId }) => `${accountId}#${mailboxId}`).values()];
  const firstUnits = unitsByMailbox.flatMap(([first]) => first ?? []);
  const mailboxRows = await table.getMany(
    firstUnits.map(({ accountId, mailboxId }) => mailboxKey(accountId, mailboxId)),
  );
  const mailboxes = await Promise.all(
    firstUnits.map(async ({ accountId, mailboxId }, index) => {
      const stored = mailboxRows[index]?.["id"] === mailboxId ? StoredMailbox.parse(mailboxRows[index]) : undefined;
      const deleted = stored ? undefined : (await deletedById(table, accountId, mailboxId))?.mailbox;
      return { accountId, mailboxId, stored, domainId: (stored ?? deleted)?.domain_id };
    }),
  );
  const domainRows = await table.getMany(
    mailboxes.flatMap(({ accountId, domainId, stored }, index) =>
      domainId !== undefined && needsDomain(unitsByMailbox[index] ?? [], stored)
        ? [domainKey(accountId, domainId)]
        : [],
    ),
  );
  const domains = new Map(
    domainRows.flatMap((row) => (row ? [[String(row["id"]), StoredDomain.parse(row)] as const] : [])),
  );
  const [ipIds, named] = await Promise.all([sendingIpIds(table, [...domains.values()]), namedIps(table, units)]);
  for (const [index, found] of mailboxes.entries()) {
    planMailbox(
      unitsByMailbox[index] ?? [],
      { ...found, domain: domains.get(found.domainId ?? ""), ipId: ipIds.get(found.domainId ?? ""), named },
      piece,
    );
  }
  const recorded = [...piece.changes].flatMap(([accountId, changes]) =>
    recordWrites(accountId, changes, systemAuthor("mail usage", "mail_servers"), piece.now),
  );
  return { writes: [...piece.writes, ...piece.counters.writes(), ...recorded], ignored: piece.ignored };
}

const ipName = (accountId: string, ipId: string): string => `${accountId}#${ipId}`;

/** The dedicated IPs that the units name, by `ipName`. Leaves out an IP that the account of the unit does not have. */
async function namedIps(table: Table, units: readonly Unit[]): Promise<Set<string>> {
  const named = new Map(
    units.flatMap(({ accountId, ipId }) =>
      typeof ipId === "string" ? [[ipName(accountId, ipId), ipKey(accountId, ipId)] as const] : [],
    ),
  );
  const rows = await table.getMany([...named.values()]);
  const names = [...named.keys()];
  return new Set(names.filter((name, index) => name.endsWith(`#${String(rows[index]?.["id"])}`)));
}

/** Whether the domain of a mailbox has to be read: for its dedicated IP, or for the event of a step of the quota. */
const needsDomain = (units: readonly Unit[], stored: StoredMailbox | undefined): boolean =>
  units.some(
    ({ sent, usage }) =>
      sent > 0 || (usage && stored && quotaStep(usage.bytes, stored.quota) > (stored.quota_step ?? 0)),
  );

type Reported = {
  accountId: string;
  mailboxId: string;
  /** The mailbox; undefined if the mailbox is deleted or unknown. */
  stored: StoredMailbox | undefined;
  /** The id of the mailbox's domain; undefined for an unknown mailbox. */
  domainId: string | undefined;
  domain: StoredDomain | undefined;
  /** The dedicated IP from which the domain sends. */
  ipId: string | undefined;
  /** The dedicated IPs that entries name. An IP that the account of the entry does not have is missing. */
  named: ReadonlySet<string>;
};

/** Plans the effects of the units of one mailbox. */
function planMailbox(units: readonly Unit[], { stored, domainId, ...reported }: Reported, piece: Piece): void {
  if (!stored) {
    const reason = domainId === undefined ? "unknown_mailbox" : "deleted_mailbox";
    const entries = units.flatMap((unit) => unit.entries);
    const withoutEffect = entries.filter(({ list }) => domainId === undefined || list !== "sent");
    piece.ignored.push(...withoutEffect.map((entry) => ({ ...entry, reason })));
  }
  if (domainId !== undefined) {
    for (const unit of units) countSent(unit, domainId, countedIp(unit, reported), piece);
  }
  if (stored) planMeasurement(units, stored, reported, piece);
}

/** The dedicated IP for which the mail of a unit is counted, as `reportUsage` says; null for none. */
function countedIp({ accountId, ipId }: Unit, reported: Pick<Reported, "ipId" | "named">): string | null {
  if (ipId === undefined) return reported.ipId ?? null;
  return ipId !== null && reported.named.has(ipName(accountId, ipId)) ? ipId : null;
}

/**
 * How long ago the day of sent mail can be, in milliseconds. Mail of earlier days is billed, but counted nowhere else.
 */
const countedMs = 30 * dayMs;

function countSent(
  { accountId, mailboxId, day: reportedDay, sent }: Unit,
  domainId: string,
  ipId: string | null,
  { counters, now }: Piece,
): void {
  if (sent === 0) return;
  const today = dayOf(now);
  counters.add(sentKey(accountId, today), { count: sent }, sentExpiry(today));
  // If the clock of a mail server is ahead, its mail counts for today.
  const day = reportedDay > today ? today : reportedDay;
  if (day < dayOf(new Date(now.getTime() - countedMs))) return;
  counters.add(sentByKey(accountId, mailboxId, day), { count: sent }, sentExpiry(day));
  countMail(counters, accountId, { type: "domain", id: domainId }, day, { sent });
  if (ipId !== null) countMail(counters, accountId, { type: "dedicated_ip", id: ipId }, day, { sent });
}

/** A login is stored only if it is at least this much later than the stored login, in milliseconds. */
const loginsEveryMs = 5 * minuteMs;

/** The newest of some times, but not later than now; undefined without a time. */
function newestOf(times: readonly (string | undefined)[], now: Date): string | undefined {
  const known = times.flatMap((time) => (time === undefined ? [] : Date.parse(time)));
  return known.length === 0 ? undefined : new Date(Math.min(Math.max(...known), now.getTime())).toISOString();
}

/**
 * Plans to store the newest measurement and the newest login of a mailbox, and the event if the mailbox reaches a step
 * of its quota.
 */
function planMeasurement(
  units: readonly Unit[],
  stored: StoredMailbox,
  { accountId, mailboxId, domain }: Pick<Reported, "accountId" | "mailboxId" | "domain">,
  { writes, changes, now }: Piece,
): void {
  const usages = units.flatMap(({ usage }) => usage ?? []).toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const usedAt = newestOf(
    usages.map(({ at }) => at),
    now,
  );
  const loginAt = newestOf(
    units.map((unit) => unit.loginAt),
    now,
  );
  const last = usages.at(-1);
  const hasNewUsage =
    last !== undefined &&
    usedAt !== undefined &&
    (stored.used_at === undefined || Date.parse(usedAt) > Date.parse(stored.used_at));
  const hasNewLogin =
    loginAt !== undefined &&
    (stored.last_login_at === null || Date.parse(loginAt) - Date.parse(stored.last_login_at) >= loginsEveryMs);
  if (!hasNewUsage && !hasNewLogin) return;
  const used = hasNewUsage ? last.bytes : stored.used;
  const quota_step = quotaStep(used, stored.quota);
  const after: StoredMailbox = {
    ...stored,
    ...(hasNewUsage ? { used, messages: last.messages, used_at: usedAt, quota_step } : {}),
    ...(hasNewLogin ? { last_login_at: loginAt } : {}),
  };
  const { messages, used_at, last_login_at } = after;
  writes.push({
    update: mailboxKey(accountId, mailboxId),
    set: { used, messages, used_at, quota_step: after.quota_step, ...(hasNewLogin ? { last_login_at } : {}) },
    // If another report stores other values meanwhile, this condition fails. Then the piece is planned again, from the
    // values that the other report has stored.
    if: {
      id: stored.id,
      used: stored.used,
      ...(stored.used_at === undefined ? {} : { used_at: stored.used_at }),
      ...(hasNewLogin && stored.last_login_at !== null ? { last_login_at: stored.last_login_at } : {}),
    },
  });
  if (!hasNewUsage || !domain || quota_step <= (stored.quota_step ?? 0)) return;
  const states = { before: mailboxCore(stored, domain), after: mailboxCore(after, domain) };
  changes.set(accountId, [...(changes.get(accountId) ?? []), change(mailboxKind, "quota_reached", mailboxId, states)]);
}
