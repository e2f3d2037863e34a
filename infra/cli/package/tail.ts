import { setTimeout as delay } from "node:timers/promises";

import type { AuditEntry, HostedMail } from "../../client/package/index.ts";
import { plainText } from "./failures.ts";
import { type Form, print } from "./output.ts";

/**
 * How long before the newest entry each request begins to read, in milliseconds. So a request also finds an entry that
 * became visible shortly after a newer entry.
 */
const reachBackMs = 60_000;

const lineOf = ({ occurred_at, event_type, actor, resource }: AuditEntry): string =>
  plainText([occurred_at, event_type.padEnd(28), actor.email ?? `${actor.type} ${actor.id}`, resource.id].join("  "));

/** Prints the last `lines` entries of the audit log, and then each new entry until the process ends. */
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
  let newest = items[0]?.occurred_at ?? new Date().toISOString();
  // With `lines` 0, the request still reads one entry. This entry is not printed, and counts as seen.
  for (const { id, occurred_at } of items.slice(lines)) seen.set(id, Date.parse(occurred_at));
  for (const entry of items.slice(0, lines).toReversed()) show(entry);
  const from = newest;
  for (;;) {
    await delay(intervalMs);
    const since = new Date(Math.max(Date.parse(newest) - reachBackMs, Date.parse(from))).toISOString();
    for await (const entry of client.audit.list({ account_id, since, order: "asc" })) {
      show(entry);
      if (entry.occurred_at > newest) newest = entry.occurred_at;
    }
    for (const [id, at] of seen) if (at < Date.parse(newest) - 2 * reachBackMs) seen.delete(id);
  }
}
