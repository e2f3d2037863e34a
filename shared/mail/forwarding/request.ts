import * as z from "zod";

import { Problem } from "../../core/errors.ts";
import { requireFeature } from "../../core/features.ts";
import { dayMs, dayOf, plusDays, startOf } from "../../core/time.ts";
import { registrableName } from "../../domains/registrable.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key } from "../../table/writes.ts";
import { proofRequestWrites, proofDeletion, linkHours, type StoredProof } from "./proof.ts";
import type { Target } from "./rule.ts";
import { mailedKey } from "./target.ts";

/*
 * Access patterns
 *   the times of mails to a person, from all accounts         MAILED#<SHA-256 of the person> / MAILED
 *   the number of mails of an account on a day                ACCOUNT#<id> / LETTERS#<day>
 */
/** The key of the number of mails that an account sent on a day to ask recipients and to invite people. */
export const mailCountKey = (accountId: string, now: Date): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `LETTERS#${dayOf(now)}`,
});

/** The items that `planMails` reads. */
export const aheadOfMails = (accountId: string, emails: readonly string[], now: Date): Key[] =>
  emails.length === 0 ? [] : [...emails.map(mailedKey), mailCountKey(accountId, now)];

/** The least time between two mails to one address, in milliseconds. */
const pauseMs = 60_000;
/** The most mails to one address within 24 hours, from all accounts together. */
const perTarget = 5;
/** The most mails of an account on a day. */
export const mailsPerAccountAndDay = 200;
/**
 * The most mails of an account to the addresses of one registrable domain on a day. There is a limit for a domain,
 * because all its addresses may belong to one person.
 */
const perDomain = 40;

/** The time until a mail may be sent, and the limit that forbids the mail before this time. */
type Wait = { waitMs: number; limit: string };

const Mailed = z.object({ at: z.array(z.string()), version: z.int() });
/**
 * The numbers of mails of an account on a day: `count` for all mails, and `domains` for the mails to each registrable
 * domain.
 */
export const MailCount = z.object({ count: z.int(), domains: z.record(z.string(), z.int()).default({}) });

/** The registrable domain of an address. If there is none, the domain of the address. */
function domainOf(email: string): string {
  const domain = email.slice(email.indexOf("@") + 1);
  return registrableName(domain)?.domain ?? domain;
}

/**
 * Plans one mail to each of some addresses, in their order. `notes` are the writes that count the mails. `waits` has
 * each address that may get no mail now, with the time to wait. The limits:
 * - an address gets one mail a minute and five in 24 hours, from all accounts together,
 * - an account sends 200 mails a day, and 40 to the addresses of one registrable domain.
 */
async function planMails(
  table: Reader,
  accountId: string,
  emails: readonly string[],
  now: Date,
): Promise<{ notes: Write[]; waits: Map<string, Wait> }> {
  const day = mailCountKey(accountId, now);
  const keysByPerson = new Map(emails.map((email) => [mailedKey(email).PK, mailedKey(email)]));
  const keys = [...keysByPerson.values()];
  const [letters, ...items] = await table.getMany([day, ...keys]);
  const { count: sentBefore, domains } = letters ? MailCount.parse(letters) : { count: 0, domains: {} };
  const byDomain = new Map(Object.entries(domains));
  const mailed = new Map(keys.map(({ PK }, index) => [PK, items[index] && Mailed.parse(items[index])]));
  const notes = new Map<string, Write>();
  const waits = new Map<string, Wait>();
  const ttl = Math.ceil((now.getTime() + 2 * dayMs) / 1_000);
  for (const email of emails) {
    const key = mailedKey(email);
    const { at, version } = mailed.get(key.PK) ?? { at: [], version: 0 };
    // Two of the addresses can be spellings of the same mailbox. So if a mail to the mailbox is planned already, it
    // counts as sent now, and the second address has to wait.
    const recent = [...at, ...(notes.has(key.PK) ? [now.toISOString()] : [])];
    const inLastDay = recent.filter((one) => Date.parse(one) > now.getTime() - dayMs);
    const domain = domainOf(email);
    const toDomain = byDomain.get(domain) ?? 0;
    const wait = waitOf(inLastDay, { count: sentBefore + notes.size, toDomain }, now);
    if (wait) waits.set(email, wait);
    else {
      byDomain.set(domain, toDomain + 1);
      const put = { ...key, at: [...inLastDay, now.toISOString()], version: version + 1, ttl };
      notes.set(key.PK, { put, if: version === 0 ? "absent" : { version } });
    }
  }
  if (notes.size === 0) return { notes: [], waits };
  const dayNote: Write = {
    put: { ...day, count: sentBefore + notes.size, domains: Object.fromEntries(byDomain), ttl },
    if: letters ? { count: sentBefore } : "absent",
  };
  return { notes: [...notes.values(), dayNote], waits };
}

/**
 * The time to wait before another mail to an address; undefined if the mail may be sent now. `inLastDay` has the times
 * of the address's mails in the last 24 hours. `count` is the number of the account's mails today. `toDomain` is the
 * number of the account's mails today to the registrable domain of the address.
 */
function waitOf(
  inLastDay: readonly string[],
  { count, toDomain }: { count: number; toDomain: number },
  now: Date,
): Wait | undefined {
  const nowMs = now.getTime();
  const forDay = waitFor(inLastDay.at(-perTarget), dayMs, nowMs);
  if (forDay > 0) return { waitMs: forDay, limit: `an address gets ${perTarget} mails in 24 hours at most` };
  const forPause = waitFor(inLastDay.at(-1), pauseMs, nowMs);
  if (forPause > 0) return { waitMs: forPause, limit: "an address gets one mail a minute at most" };
  const waitMs = startOf(plusDays(dayOf(now), 1)).getTime() - nowMs;
  if (count >= mailsPerAccountAndDay)
    return { waitMs, limit: `an account sends ${mailsPerAccountAndDay} mails a day at most` };
  if (toDomain < perDomain) return undefined;
  return { waitMs, limit: `an account sends ${perDomain} mails a day to one domain at most` };
}

/** The milliseconds left until `ms` milliseconds have passed since a given time. Not above zero if nothing is left. */
const waitFor = (since: string | undefined, ms: number, nowMs: number): number =>
  since === undefined ? 0 : Date.parse(since) + ms - nowMs;

/** The 429 `rate_limited` for a mail above a limit. */
function tooManyMails({ waitMs, limit }: Wait): Problem {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Problem("rate_limited", `No mail was sent, because ${limit}. Try again in ${retry_after} s.`, {
    retry_after,
  });
}

/** Plans one mail to a person, within the limits of `planMails`. Throws 429 if no mail may be sent now. */
export async function planMail(table: Reader, accountId: string, email: string, now: Date): Promise<Write[]> {
  const { notes, waits } = await planMails(table, accountId, [email], now);
  const wait = waits.get(email);
  if (wait) throw tooManyMails(wait);
  return notes;
}

/** The time at which a link that is requested now expires. */
const linkExpiry = (now: Date): string => new Date(now.getTime() + linkHours * 3_600_000).toISOString();

/** The sentence that says when a mail can be requested again. */
function retryIn({ waitMs }: Wait): string {
  const time = waitMs > 90_000 ? `${Math.ceil(waitMs / 3_600_000)} h` : "a minute";
  return `Send one with forwarding.verification.send in ${time}.`;
}

/** The rule whose recipients are asked, the earlier proofs by their slots, and the time of the request. */
type RuleProofs = { accountId: string; ruleId: string; proofs: ReadonlyMap<number, StoredProof>; now: Date };

/** Targets in the order in which they were given, and whether a mail goes to at least one of them. */
export type PlannedTargets = { targets: Target[]; writes: Write[]; isAsked: boolean };

/**
 * Plans mails to recipients of a rule, each with a new link and code. The earlier links and codes stop working;
 * `proofs` has the earlier proofs by slot. A worker sends the mails when it gets the event of the change. A target that
 * may get no mail is not changed. Throws:
 * - 409 `mail_unavailable` if a recipient is to be asked, and this deployment sends no mail
 * - 429 if a limit on such mails leaves no mail to send
 */
export async function planRequests(
  table: Reader,
  asked: readonly Target[],
  ruleProofs: RuleProofs,
): Promise<PlannedTargets> {
  const planned = await planDueRequests(table, asked, ruleProofs);
  const [wait] = planned.waits.values();
  if (wait && !planned.isAsked) throw tooManyMails(wait);
  return planned;
}

/**
 * Plans mails as `planRequests` does, but does not throw 429 if no mail may be sent. `waits` has each address that may
 * get no mail now, with the time to wait.
 */
async function planDueRequests(
  table: Reader,
  asked: readonly Target[],
  { accountId, ruleId, proofs, now }: RuleProofs,
): Promise<PlannedTargets & { waits: Map<string, Wait> }> {
  if (asked.length > 0) requireFeature("mail");
  const emails = asked.map(({ email }) => email);
  const { notes, waits } =
    emails.length === 0 ? { notes: [], waits: new Map() } : await planMails(table, accountId, emails, now);
  const expiresAt = linkExpiry(now);
  const due = asked.filter(({ email }) => !waits.has(email));
  const requested = (target: Target): Target => ({
    ...unverified(target),
    verification_sent_at: now.toISOString(),
    verification_expires_at: expiresAt,
  });
  return {
    targets: asked.map((target) => (waits.has(target.email) ? target : requested(target))),
    writes: [
      ...notes,
      ...due.flatMap(({ slot, email }) =>
        proofRequestWrites(accountId, { ruleId, slot, email }, proofs.get(slot), expiresAt),
      ),
    ],
    isAsked: due.length > 0,
    waits,
  };
}

/** A target whose recipient has not been asked. */
const unverified = ({ target_domain_id: _, ...target }: Pick<Target, "email" | "slot"> & Partial<Target>): Target => ({
  ...target,
  verification_required: true,
  verification_state: "pending",
  status_reason: null,
  verification_sent_at: null,
  verification_expires_at: null,
  verification_verified_at: null,
});

/**
 * A target that was added to a rule, or a target of a rule that has become a mailbox of the account. If the target is a
 * mailbox of the account, `homeId` is the id of its domain.
 */
export type NewTarget = { email: string; slot: number; homeId: string | undefined };

/**
 * Plans the verification of new targets of a rule. The former `proofs` of the slots are replaced or deleted.
 * - A target that is a mailbox of the account needs no verification.
 * - If a limit on mails is reached, no mail is sent to the target. The account's next mail to the address then also
 *   asks for this rule, because a mail asks for up to 100 rules that wait for its recipient.
 *
 * Throws 409 `mail_unavailable` if a target needs verification, and this deployment sends no mail.
 */
export async function planNewTargets(
  table: Reader,
  given: readonly NewTarget[],
  ruleProofs: RuleProofs,
): Promise<PlannedTargets> {
  const { accountId, ruleId, proofs } = ruleProofs;
  const external = given.filter(({ homeId }) => homeId === undefined).map(unverifiedNew);
  const planned = await planDueRequests(table, external, ruleProofs);
  const asked = new Map(planned.targets.map((target) => [target.email, target]));
  const ended = given.flatMap(({ email, slot }) => {
    const proof = proofs.get(slot);
    const isReplaced = asked.has(email) && !planned.waits.has(email);
    return proof && !isReplaced ? [proofDeletion(accountId, ruleId, slot, proof)] : [];
  });
  return {
    targets: given.map((one) => {
      const target = asked.get(one.email);
      const wait = planned.waits.get(one.email);
      if (!target) return internal(one);
      if (!wait) return target;
      return { ...target, status_reason: `No mail was sent, because the limit on mails was reached. ${retryIn(wait)}` };
    }),
    writes: [...planned.writes, ...ended],
    isAsked: planned.isAsked,
  };
}

const unverifiedNew = ({ email, slot }: NewTarget): Target => unverified({ email, slot });

/** A target that is a mailbox of the account. */
const internal = ({ email, slot, homeId }: NewTarget): Target => ({
  ...unverified({ email, slot }),
  verification_required: false,
  verification_state: "internal",
  ...(homeId === undefined ? {} : { target_domain_id: homeId }),
});
