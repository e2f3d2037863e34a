import * as z from "zod";

import type { Change } from "../../changes/kind.ts";
import { recordWrites, systemAuthor } from "../../changes/record.ts";
import { Id } from "../../core/ids.ts";
import { dayMs, dayOf, type Day } from "../../core/time.ts";
import { readHolders } from "../../dedicated-ips/holder.ts";
import { sendingIpIds } from "../../dedicated-ips/relay.ts";
import { canonicalAddress } from "../../dns/reverse.ts";
import { domainKey, holderKey, StoredDomain } from "../../domains/domain.ts";
import { StoredHolder } from "../../domains/holder.ts";
import { countMail, type CountName } from "../../statistics/statistics.ts";
import { Counters } from "../../table/counters.ts";
import type { Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { readAddress } from "../mailboxes/local-part.ts";
import {
  BatchId,
  cutIntoPieces,
  type Batch,
  batchAnswer,
  type Ignored,
  ReportedTime,
  runBatch,
} from "../servers/batch.ts";
import { readRecipient } from "../suppressions/recipient.ts";
import { type Addition, planSuppressions, SuppressedEmail, writesPerSuppression } from "../suppressions/suppression.ts";
import { readReport, type ReportedFate } from "./report.ts";

const statusCode = z.string().regex(/^[245]\.\d{1,3}\.\d{1,3}$/, {
  error: "Write an enhanced status code such as 5.1.1 (RFC 3463)",
});

/**
 * A batch of reports about mail that was sent:
 * - `events`: deliveries, deferrals, bounces and complaints that a mail server saw itself
 * - `reports`: whole mails in the form of RFC 3464 or RFC 5965, in base64. Each report comes with the sender and the
 *   recipient of the reported mail, as the mail server knows them
 */
export const EventBatch = z.strictObject({
  batch_id: BatchId,
  events: z
    .array(
      z.strictObject({
        type: z.enum(["delivered", "bounced", "deferred", "complained"]),
        at: ReportedTime,
        account_id: Id.optional(),
        sender: z.string().max(1_000),
        recipient: z.string().min(1).max(1_000),
        status: statusCode.optional(),
        diagnostic: z.string().max(10_000).optional(),
        source_ip: z.union([z.ipv4(), z.ipv6()]).optional(),
        message_id: z.string().max(1_000).optional(),
      }),
    )
    .default([]),
  reports: z
    .array(
      z.strictObject({
        id: z.string().min(1).max(255),
        sender: z.string().max(1_000),
        recipient: z.string().min(1).max(1_000),
        raw: z.string(),
      }),
    )
    .max(20)
    .default([]),
});
type EventBatch = z.output<typeof EventBatch>;

/** An event, with the place of its entry in the batch. An event without a day counts for today. */
type MailEvent = ReportedFate & {
  sender: string;
  recipient: string;
  sourceIp: string | undefined;
  accountId: string | undefined;
  day: Day | undefined;
  entry: Pick<Ignored, "list" | "index">;
};

/** Equal events, and their number. `addition` is the suppression that the events cause, if any. */
type Unit = {
  domain: string;
  accountId: string | undefined;
  sourceIp: string | undefined;
  day: Day | undefined;
  name: CountName;
  count: number;
  addition: Addition | undefined;
  entries: MailEvent["entry"][];
};

type EventWork = { table: Table; now: () => Date };

/**
 * Counts deliveries, deferrals, bounces and complaints, and suppresses the recipients of hard bounces and complaints.
 * The answer says which entries have no effect, for the reasons of `readReport` and these:
 * - `unknown_sender`: no account has proved the sender's domain.
 * - `foreign_sender`: the account that the entry names is not the account that has proved the sender's domain.
 *
 * An event of a day more than 30 days ago is in no statistics. The answer does not say so. Throws 422 for another batch
 * with the same id. If a part of the batch fails, does the other parts, and then throws the error.
 */
export async function reportEvents({ content, fingerprint }: Batch<EventBatch>, work: EventWork) {
  const { batch_id: batchId, ...lists } = content;
  const { events, ignored: unread } = await eventsOf(content);
  const pieces = cutIntoPieces(unitsOf(events), writesOf);
  const ignored = await runBatch({ batchId, fingerprint, pieces, plan: (units) => planUnits(units, work) }, work);
  return batchAnswer(lists, [...unread, ...ignored]);
}

async function eventsOf({ events, reports }: EventBatch): Promise<{ events: MailEvent[]; ignored: Ignored[] }> {
  const all = events.map(({ type, at, sender, recipient, status, diagnostic, ...event }, index): MailEvent => ({
    type,
    sender,
    recipient,
    status,
    diagnostic,
    sourceIp: event.source_ip,
    accountId: event.account_id,
    day: at.slice(0, "yyyy-mm-dd".length),
    entry: { list: "events", index },
  }));
  const ignored: Ignored[] = [];
  // The reports are read one after another, because a report takes memory while it is read.
  for (const [index, { sender, recipient, raw }] of reports.entries()) {
    const entry = { list: "reports", index };
    const read = await readReport(raw, recipient);
    if (typeof read === "string") ignored.push({ ...entry, reason: read });
    else {
      const notReported = { sourceIp: undefined, accountId: undefined, day: undefined };
      all.push({ ...read, ...notReported, sender, recipient, entry });
    }
  }
  return { events: all, ignored };
}

/**
 * Whether a bounce is hard: the address cannot be reached, now or later. These enhanced status codes (RFC 3463) say so:
 * - `5.1.x`: there is no such address or domain; but not `5.1.7` and `5.1.8`, which blame the sender's address
 * - `5.2.1`: the mailbox is disabled
 * - `5.4.4`: the domain has no mail server
 * - `5.0.0`: a permanent failure without a cause
 *
 * A bounce with another code, or without a code, is soft: its cause is the mail, the sender's reputation, a full
 * mailbox, or a server that may come back.
 */
export const isHardBounce = (status: string | undefined): boolean =>
  status !== undefined && /^5\.(?:1\.(?![78]$)\d+|2\.1|4\.4|0\.0)$/.test(status);

const nameOf = ({ type, status }: MailEvent): CountName =>
  type === "bounced" ? (isHardBounce(status) ? "hard_bounced" : "soft_bounced") : type;

const longestDetail = 500;

/**
 * A server's words as text for people: in one line, without invisible characters, and not too long. Null if no text
 * remains.
 */
function detailOf(words = ""): string | null {
  const text = words.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return text.slice(0, longestDetail).toWellFormed() || null;
}

function additionOf({ recipient, status, diagnostic }: MailEvent, name: CountName): Addition | undefined {
  const email = SuppressedEmail.safeParse(readRecipient(recipient)).data;
  if (email === undefined || (name !== "hard_bounced" && name !== "complained")) return undefined;
  const detail = detailOf(diagnostic);
  return name === "complained"
    ? { email, reason: "complaint", status: null, detail }
    : { email, reason: "bounce", status: status ?? null, detail };
}

/**
 * Puts equal events together. The order of the units follows from the events alone, so that a repeat of the batch is
 * cut into the same pieces.
 */
function unitsOf(events: readonly MailEvent[]): Unit[] {
  const units = new Map<string, Unit>();
  for (const event of events) {
    const domain = readAddress(event.sender.replace(/^<(.*)>$/, "$1"))?.domain ?? "";
    const { accountId, sourceIp, day } = event;
    const name = nameOf(event);
    const addition = additionOf(event, name);
    const key = JSON.stringify([domain, accountId, sourceIp, day, name, addition?.email]);
    const unit = units.get(key) ?? { domain, accountId, sourceIp, day, name, count: 0, addition, entries: [] };
    unit.count += 1;
    unit.entries.push(event.entry);
    units.set(key, unit);
  }
  return [...units].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, unit]) => unit);
}

/**
 * The most writes of a unit. The counters of the domain and of the dedicated IP take two writes. A suppression takes
 * its own writes and three more: its event, the head of the list, and the counter of the account's events.
 */
const writesOf = ({ addition }: Unit): number => (addition ? 2 + writesPerSuppression + 3 : 2);

/** The domain from which mail was sent, and its account. */
type Sender = { accountId: string; domain: StoredDomain };

async function planUnits(
  units: readonly Unit[],
  { table, now }: EventWork,
): Promise<{ writes: Write[]; ignored: Ignored[] }> {
  const at = now();
  const senders = await sendersOf(table, units);
  const ipIds = await ipIdsOf(table, units, senders);
  const counters = new Counters();
  const additions = new Map<string, Map<string, Addition>>();
  const ignored: Ignored[] = [];
  for (const [index, unit] of units.entries()) {
    const sender = senders.get(unit.domain);
    if (!sender || (unit.accountId ?? sender.accountId) !== sender.accountId) {
      const reason = sender ? "foreign_sender" : "unknown_sender";
      ignored.push(...unit.entries.map((entry) => ({ ...entry, reason })));
      continue;
    }
    countUnit(unit, sender, ipIds[index], { counters, now: at });
    const { addition } = unit;
    if (!addition) continue;
    const byEmail = additions.get(sender.accountId) ?? new Map<string, Addition>();
    if (!byEmail.has(addition.email)) byEmail.set(addition.email, addition);
    additions.set(sender.accountId, byEmail);
  }
  const writes = counters.writes();
  for (const [accountId, byEmail] of additions) {
    const plan = await planSuppressions(table, accountId, [...byEmail.values()], at);
    writes.push(...plan.writes, ...recorded(accountId, plan.changes, at));
  }
  return { writes, ignored };
}

const recorded = (accountId: string, changes: readonly Change[], at: Date): Write[] =>
  changes.length === 0 ? [] : recordWrites(accountId, changes, systemAuthor("mail events", "mail_servers"), at);

/** The senders of some events, by domain name. A domain has a sender only if an account has proved the domain. */
async function sendersOf(table: Table, units: readonly Unit[]): Promise<Map<string, Sender>> {
  const names = [...new Set(units.map(({ domain }) => domain))].filter((name) => name !== "");
  const holders = (await table.getMany(names.map(holderKey))).map((item) =>
    item ? StoredHolder.parse(item) : undefined,
  );
  const firm = holders.flatMap((holder) => (holder?.firm ? [holder] : []));
  const rows = await table.getMany(firm.map(({ account_id, domain_id }) => domainKey(account_id, domain_id)));
  return new Map(
    firm.flatMap(({ account_id: accountId, domain_id }, index) => {
      const domain = rows[index] ? StoredDomain.parse(rows[index]) : undefined;
      const isProved = domain?.id === domain_id && domain.verified_at !== null;
      return isProved ? [[domain.name, { accountId, domain }] as const] : [];
    }),
  );
}

/**
 * The id of the dedicated IP of each unit. With a source address: the account's dedicated IP with this address. Without
 * a source address: the dedicated IP from which the domain sends. Undefined if there is none, as for the shared
 * addresses.
 */
async function ipIdsOf(
  table: Table,
  units: readonly Unit[],
  senders: ReadonlyMap<string, Sender>,
): Promise<(string | undefined)[]> {
  const addresses = units.map(({ sourceIp }) => (sourceIp === undefined ? undefined : canonicalAddress(sourceIp)));
  const wanted = [...new Set(addresses.flatMap((address) => address ?? []))];
  const withoutSource = units.flatMap(({ sourceIp, domain }) =>
    sourceIp === undefined ? (senders.get(domain) ?? []) : [],
  );
  const [holders, sending] = await Promise.all([
    readHolders(table, wanted),
    sendingIpIds(
      table,
      withoutSource.map(({ domain }) => domain),
    ),
  ]);
  const byAddress = new Map(wanted.map((address, index) => [address, holders[index]]));
  return units.map(({ domain, sourceIp }, index) => {
    const sender = senders.get(domain);
    if (!sender) return undefined;
    if (sourceIp === undefined) return sending.get(sender.domain.id);
    const holder = byAddress.get(addresses[index] ?? "");
    return holder?.account_id === sender.accountId ? holder.dedicated_ip_id : undefined;
  });
}

/** How long ago the day of an event can be, in milliseconds. Events of earlier days are in no statistics. */
const countedMs = 30 * dayMs;

function countUnit(
  { day: reportedDay, name, count }: Unit,
  { accountId, domain }: Sender,
  ipId: string | undefined,
  { counters, now }: { counters: Counters; now: Date },
): void {
  const today = dayOf(now);
  const day = reportedDay === undefined || reportedDay > today ? today : reportedDay;
  if (day < dayOf(new Date(now.getTime() - countedMs))) return;
  countMail(counters, accountId, { type: "domain", id: domain.id }, day, { [name]: count });
  if (ipId !== undefined) countMail(counters, accountId, { type: "dedicated_ip", id: ipId }, day, { [name]: count });
}
