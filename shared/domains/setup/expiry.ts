import { dayMs, later } from "../../core/time.ts";
import { isRegistered, type StoredDomain } from "../domain.ts";

/** How many days before the end of a registration its account gets a notice. */
const noticeDays = [30, 7, 1, 0];

/** How long before the end of a registration it is renewed automatically, in milliseconds. */
const renewalMs = 30 * dayMs;

/** The wait between two attempts to renew a name automatically, in milliseconds. It fits between two daily checks. */
const retryMs = 0.8 * dayMs;

type Expiring = Pick<StoredDomain, "registration">;

const daysBefore = (end: string, days: number): string => later(new Date(end), -days * dayMs);

/** The next time at which a notice is due, or the registration gets another status; undefined when there is none. */
function nextDate({ registration }: Expiring, now: Date): string | undefined {
  const { expires_at = null, grace_ends_at = null, redemption_ends_at = null } = registration ?? {};
  const notices = expires_at === null ? [] : noticeDays.map((days) => daysBefore(expires_at, days));
  return [...notices, grace_ends_at, redemption_ends_at]
    .flatMap((date) => (date !== null && date > now.toISOString() ? [date] : []))
    .toSorted()[0];
}

/** The time of the next check of a domain: `at`, or earlier if a date of its registration comes first. */
export function dueBy(domain: Expiring, at: string | null, now: Date): string | null {
  const date = nextDate(domain, now);
  return at !== null && date !== undefined && date < at ? date : at;
}

/** The notice that is due: how many days before the end it belongs to; undefined if that was sent, or none is due. */
export function noticeDue(domain: StoredDomain, now: Date): number | undefined {
  const end = domain.registration?.expires_at ?? null;
  if (end === null || !isRegistered(domain)) return undefined;
  const days = noticeDays.findLast((before) => daysBefore(end, before) <= now.toISOString());
  const sent = domain.notice?.expires_at === end ? domain.notice.days : Infinity;
  return days !== undefined && days < sent ? days : undefined;
}

/** Whether a domain is to be renewed automatically: at most once a day, until its grace is over. */
export function isRenewalDue(domain: StoredDomain, now: Date): boolean {
  const { auto_renew, is_open, registration, renewal } = domain;
  const end = registration?.expires_at ?? null;
  if (!auto_renew || !is_open || end === null || !isRegistered(domain)) return false;
  const isSoon = Date.parse(end) - now.getTime() <= renewalMs;
  return isSoon && (renewal === undefined || now.getTime() - Date.parse(renewal.started_at) >= retryMs);
}
