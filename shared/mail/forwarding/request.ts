import * as z from "zod";

import { change, type Change } from "../../changes/kind.ts";
import { Problem } from "../../core/errors.ts";
import { dayMs, dayOf, plusDays, startOf } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key } from "../../table/writes.ts";
import { askedWrites, endedWrites, linkHours, type StoredProof } from "./proof.ts";
import { ruleKind, ruleView, type StoredRule } from "./rule.ts";
import { mailedKey } from "./target.ts";

/*
 * Access patterns
 *   the times of mails to an address, from all accounts       MAILED#<SHA-256 of the address> / MAILED
 *   the number of mails of an account on a day                ACCOUNT#<id> / LETTERS#<day>
 */
const lettersKey = (accountId: string, now: Date): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `LETTERS#${dayOf(now)}`,
});

/** The items that `mayMail` reads. */
export const aheadOfMail = (accountId: string, email: string, now: Date): Key[] => [
  mailedKey(email),
  lettersKey(accountId, now),
];

const pauseMs = 60_000;
const perTarget = 5;
const perAccount = 200;

/** The time until a mail may be sent, and the limit that forbids it earlier. */
type Wait = { waitMs: number; limit: string };

const Mailed = z.object({ at: z.array(z.string()), version: z.int() });
const Letters = z.object({ count: z.int() });

/**
 * Returns the writes that count a mail to an address, or the time to wait in milliseconds. The limits:
 * - an address gets one mail a minute and five a day, from all accounts together,
 * - an account sends 200 mails a day.
 */
async function mayMail(table: Reader, accountId: string, email: string, now: Date): Promise<{ notes: Write[] } | Wait> {
  const [key, day] = [mailedKey(email), lettersKey(accountId, now)];
  const [mailed, letters] = await Promise.all([table.get(key, Mailed), table.get(day, Letters)]);
  const { at, version } = mailed ?? { at: [], version: 0 };
  const nowMs = now.getTime();
  const today = at.filter((one) => Date.parse(one) > nowMs - dayMs);
  const forDay = waitFor(today.at(-perTarget), dayMs, nowMs);
  if (forDay > 0) return { waitMs: forDay, limit: `an address gets ${perTarget} mails in 24 hours at most` };
  const forPause = waitFor(today.at(-1), pauseMs, nowMs);
  if (forPause > 0) return { waitMs: forPause, limit: "an address gets one mail a minute at most" };
  const count = letters?.count ?? 0;
  const tomorrow = startOf(plusDays(dayOf(now), 1)).getTime();
  if (count >= perAccount)
    return { waitMs: tomorrow - nowMs, limit: `an account sends ${perAccount} mails a day at most` };
  const ttl = Math.ceil((nowMs + 2 * dayMs) / 1_000);
  return {
    notes: [
      {
        put: { ...key, at: [...today, now.toISOString()], version: version + 1, ttl },
        if: version === 0 ? "absent" : { version },
      },
      { put: { ...day, count: count + 1, ttl }, if: letters ? { count } : "absent" },
    ],
  };
}

/** The time left until `ms` milliseconds have passed since a given time; zero without one. */
const waitFor = (since: string | undefined, ms: number, nowMs: number): number =>
  since === undefined ? 0 : Date.parse(since) + ms - nowMs;

/** The 429 `rate_limited` for a mail above a limit. */
function tooManyMails({ waitMs, limit }: Wait): Problem {
  const retry_after = Math.max(1, Math.ceil(waitMs / 1_000));
  return new Problem("rate_limited", `No mail was sent, because ${limit}. Try again in ${retry_after} s.`, {
    retry_after,
  });
}

type PlannedRequest = { rule: StoredRule; writes: Write[]; changes: Change[] };

/** The time at which a link that is requested now expires. */
const linkExpiry = (now: Date): string => new Date(now.getTime() + linkHours * 3_600_000).toISOString();

/**
 * Plans a mail to the recipient of a rule, with a new link and code. Earlier links and codes, which `proof` has, stop
 * working. A worker sends the mail when it gets the event of the change. Throws 429 above a limit on such mails.
 */
export async function planRequest(
  table: Reader,
  accountId: string,
  rule: StoredRule,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest> {
  const planned = await planRequestIfDue(table, accountId, rule, proof, now);
  if ("waitMs" in planned) throw tooManyMails(planned);
  return planned;
}

const retryIn = ({ waitMs }: Wait): string =>
  `Send one with forwarding.verification.send in ${waitMs > 90_000 ? `${Math.ceil(waitMs / 3_600_000)} h` : "a minute"}.`;

/** Like `planRequest`, but returns the time to wait if a limit on mails is reached. */
async function planRequestIfDue(
  table: Reader,
  accountId: string,
  rule: StoredRule,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest | Wait> {
  const mail = await mayMail(table, accountId, rule.target_email, now);
  if ("waitMs" in mail) return mail;
  const expiresAt = linkExpiry(now);
  const requested: StoredRule = {
    ...rule,
    verification_required: true,
    verification_state: "pending",
    status_reason: null,
    verification_sent_at: now.toISOString(),
    verification_expires_at: expiresAt,
    verification_verified_at: null,
  };
  return {
    rule: requested,
    writes: [...mail.notes, ...askedWrites(accountId, rule, proof, expiresAt)],
    changes: [change(ruleKind, "verification_requested", rule.id, { after: ruleView(requested, now) })],
  };
}

/**
 * Plans the verification of a rule's new target. If a limit on mails is reached, no mail is sent. A later mail to the
 * address lists all rules of the account that wait for its agreement. `targetDomainId` is the domain of a target inside
 * the account; such a target needs no verification. `proof` is that of the rule's recipient before.
 */
export async function planNewTarget(
  table: Reader,
  accountId: string,
  { target_domain_id: _, ...rule }: StoredRule,
  targetDomainId: string | undefined,
  proof: StoredProof | undefined,
  now: Date,
): Promise<PlannedRequest> {
  const isInternal = targetDomainId !== undefined;
  const updated: StoredRule = {
    ...rule,
    ...(isInternal ? { target_domain_id: targetDomainId } : {}),
    verification_required: !isInternal,
    verification_state: isInternal ? "internal" : "pending",
    status_reason: null,
    verification_sent_at: null,
    verification_expires_at: null,
    verification_verified_at: null,
  };
  if (!isInternal) {
    const planned = await planRequestIfDue(table, accountId, updated, proof, now);
    if (!("waitMs" in planned)) return planned;
    updated.status_reason = `No mail was sent, because the limit on mails was reached. ${retryIn(planned)}`;
  }
  return { rule: updated, writes: endedWrites(accountId, rule.id, proof), changes: [] };
}
