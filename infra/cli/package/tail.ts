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

/**
 * Returns the wait before the request is made again after an error, in milliseconds: twice the last wait, or the time
 * in `Retry-After`. Throws the error if it is not temporary.
 */
function waitAfter(error: unknown, lastMs: number): number {
  const isFromApi = error instanceof ApiError;
  const isTemporary = isFromApi ? error.status === 429 || error.status >= 500 : error instanceof ConnectionError;
  if (!isTemporary) throw error;
  const askedMs = isFromApi ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  return Math.max(lastMs, Math.min(2 * lastMs, longestWaitMs), askedMs);
}

/**
 * Prints the last `lines` entries of the audit log, and then each new entry until the process ends. Goes on after a
 * temporary failure, with a note on standard error. Throws if the first request fails, or on another error.
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
  // If the log is empty, every entry is new.
  let newest = items[0]?.occurred_at ?? new Date(0).toISOString();
  // With `lines` 0, the request still reads one entry. This entry is not printed, and counts as seen.
  for (const { id, occurred_at } of items.slice(lines)) seen.set(id, Date.parse(occurred_at));
  for (const entry of items.slice(0, lines).toReversed()) show(entry);
  const from = newest;
  let waitMs = intervalMs;
  for (;;) {
    await delay(waitMs);
    const since = new Date(Math.max(Date.parse(newest) - reachBackMs, Date.parse(from))).toISOString();
    try {
      for await (const entry of client.audit.list({ account_id, since, order: "asc" })) {
        show(entry);
        if (entry.occurred_at > newest) newest = entry.occurred_at;
      }
      waitMs = intervalMs;
    } catch (error) {
      waitMs = waitAfter(error, waitMs);
      printNote(`hosted-mail: ${explain(error).line} The command tries again in ${Math.ceil(waitMs / 1000)} seconds.`);
    }
    for (const [id, at] of seen) if (at < Date.parse(newest) - 2 * reachBackMs) seen.delete(id);
  }
}
