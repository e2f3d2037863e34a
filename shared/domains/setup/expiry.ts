import { dayMs, later } from "../../core/time.ts";
import { isRegistered, type StoredDomain } from "../domain.ts";

/** How many days before the end of a registration its account gets a notice. */
const noticeDays = [30, 7, 1, 0];

/** How many days before the end of the grace period the account gets a notice. After the grace period, mail stops. */
const graceNoticeDays = [7, 1];

/** How long before the end of a registration its automatic renewal begins, in milliseconds. */
const renewalMs = 30 * dayMs;

/**
 * The shortest wait between two attempts to renew a name automatically, in milliseconds. Two daily checks are at least
 * 0.9 days apart. This wait is shorter, so that each daily check can try again.
 */
const retryMs = 0.8 * dayMs;

type Expiring = Pick<StoredDomain, "registration">;

const daysBefore = (end: string, days: number): string => later(new Date(end), -days * dayMs);

/** The next time at which a notice is due or the registration gets another status; undefined if there is none. */
function nextDate(domain: Expiring, now: Date): string | undefined {
  const { grace_ends_at = null, redemption_ends_at = null } = domain.registration ?? {};
  return [...noticesOf(domain).map(({ at }) => at), grace_ends_at, redemption_ends_at]
    .flatMap((date) => (date !== null && date > now.toISOString() ? [date] : []))
    .toSorted()[0];
}

/**
 * A notice. `at` is when the notice is due. `days` is the number of days from `at` to the end of the registration.
 * After the end, `days` is negative.
 */
type Notice = { at: string; days: number };

/** All notices of a registration, in the order of their times. */
function noticesOf({ registration }: Expiring): Notice[] {
  const { expires_at = null, grace_ends_at = null } = registration ?? {};
  if (expires_at === null) return [];
  const before = noticeDays.map((days) => ({ at: daysBefore(expires_at, days), days }));
  const inGrace = grace_ends_at === null ? [] : graceNoticeDays.map((days) => daysBefore(grace_ends_at, days));
  const late = inGrace
    .filter((at) => at > expires_at)
    .map((at) => ({ at, days: -Math.round((Date.parse(at) - Date.parse(expires_at)) / dayMs) }));
  return [...before, ...late];
}

/**
 * The time of the next check of a domain: `at`, or earlier if a date of its registration comes first. Null if `at` is
 * null: then no check is planned.
 */
export function dueBy(domain: Expiring, at: string | null, now: Date): string | null {
  const date = nextDate(domain, now);
  return at !== null && date !== undefined && date < at ? date : at;
}

/** The `days` of the notice that is due. Undefined if no notice is due, or if the notice was sent before. */
export function noticeDue(domain: StoredDomain, now: Date): number | undefined {
  const end = domain.registration?.expires_at ?? null;
  if (end === null || !isRegistered(domain)) return undefined;
  const days = noticesOf(domain).findLast(({ at }) => at <= now.toISOString())?.days;
  const sent = domain.notice?.expires_at === end ? domain.notice.days : Infinity;
  return days !== undefined && days < sent ? days : undefined;
}

/** Whether to try to renew a domain automatically now: at most once in 0.8 days, until the grace period is over. */
export function isRenewalDue(domain: StoredDomain, now: Date): boolean {
  const { auto_renew, is_open, registration, renewal } = domain;
  const end = registration?.expires_at ?? null;
  if (!auto_renew || !is_open || end === null || !isRegistered(domain)) return false;
  const isSoon = Date.parse(end) - now.getTime() <= renewalMs;
  return isSoon && (renewal === undefined || now.getTime() - Date.parse(renewal.started_at) >= retryMs);
}
