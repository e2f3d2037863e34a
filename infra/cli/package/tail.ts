import { setTimeout as delay } from "node:timers/promises";

import { ApiError, type AuditEntry, ConnectionError, type HostedMail } from "../../client/package/index.ts";
import { explain, plainText } from "./failures.ts";
import { type Form, print, printNote } from "./output.ts";

/**
 * How long before the newest entry each request begins to read, in milliseconds. So a request also finds an entry that
 * became visible shortly after a newer entry.
 */
const reachBackMs = 60_000;

const lineOf = ({ occurred_at, event_type, actor, resource }: AuditEntry): string =>
  plainText([occurred_at, event_type.padEnd(28), actor.email ?? `${actor.type} ${actor.id}`, resource.id].join("  "));

/** The longest wait after a failure, unless the interval or `Retry-After` is longer, in milliseconds. */
const longestWaitMs = 60_000;
/** The longest wait that `Retry-After` can ask for, in milliseconds. */
const longestAskedMs = 86_400_000;

/**
 * How long a temporary error asks to wait by `Retry-After`, in milliseconds; 0 if it does not ask. If the error is not
 * temporary, throws this error again.
 */
function askedWaitMs(error: unknown): number {
  const isFromApi = error instanceof ApiError;
  const isTemporary = isFromApi ? error.status === 429 || error.status >= 500 : error instanceof ConnectionError;
  if (!isTemporary) throw error;
  return isFromApi ? Math.min((error.retryAfterSeconds ?? 0) * 1000, longestAskedMs) : 0;
}

/**
 * Prints the last `lines` entries of the audit log, and then each new entry until the process ends. Goes on after a
 * temporary failure, with a note on standard error. Throws if a request fails before the waiting begins. After that,
 * throws only errors that are not temporary.
 */
export async function tailAudit(
  client: HostedMail,
  { account_id, lines, intervalMs, form }: { account_id: string; lines: number; intervalMs: number; form: Form },
): Promise<never> {
  const seen = new Map<string, number>();
  const show = (entry: AuditEntry): void => {
    if (seen.has(entry.id)) return;
    seen.set(entry.id, Date.parse(entry.occurred_at));
    print(form === "people" ? lineOf(entry) : JSON.stringify(entry));
  };
  const { items } = await client.audit.list({ account_id, order: "desc", page_size: Math.max(1, lines) });
  // If the log is empty, every later entry is new.
  let newest = items[0]?.occurred_at ?? new Date(0).toISOString();
  // With `lines` 0, the request still reads one entry. This entry is not printed, and counts as seen.
  for (const { id, occurred_at } of items.slice(lines)) seen.set(id, Date.parse(occurred_at));
  for (const entry of items.slice(0, lines).toReversed()) show(entry);
  // One transaction can record many changes with the same time. So more than `lines` entries can have the time of the
  // newest entry. None of them is new: they count as seen.
  if (items.length > 0)
    for await (const { id, occurred_at } of client.audit.list({ account_id, since: newest, order: "asc" })) {
      if (occurred_at > newest) break;
      seen.set(id, Date.parse(occurred_at));
    }
  const from = newest;
  let [waitMs, backOffMs] = [intervalMs, intervalMs];
  for (;;) {
    await delay(waitMs);
    const since = new Date(Math.max(Date.parse(newest) - reachBackMs, Date.parse(from))).toISOString();
    try {
      for await (const entry of client.audit.list({ account_id, since, order: "asc" })) {
        show(entry);
        if (entry.occurred_at > newest) newest = entry.occurred_at;
      }
      waitMs = backOffMs = intervalMs;
    } catch (error) {
      const askedMs = askedWaitMs(error);
      backOffMs = Math.max(intervalMs, Math.min(2 * backOffMs, longestWaitMs));
      waitMs = Math.max(backOffMs, askedMs);
      printNote(`hosted-mail: ${explain(error).line} The command tries again in ${Math.ceil(waitMs / 1000)} seconds.`);
    }
    // Later requests no longer read entries that are so old.
    for (const [id, at] of seen) if (at < Date.parse(newest) - 2 * reachBackMs) seen.delete(id);
  }
}
