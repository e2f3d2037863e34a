import { randomUUID } from "node:crypto";

import { change } from "../../changes/kind.ts";
import { recordWrites } from "../../changes/record.ts";
import { later } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainKind, type Domain, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import type { StoredHolder } from "../holder.ts";
import { domainViews } from "../view.ts";
import { domainUpdate } from "./work.ts";

/** How long a domain that lost its name keeps its contents, in milliseconds. */
const keptMs = 30 * 86_400_000;

const reasons = {
  proved: "Another account proved that the name is theirs: it is delegated to their nameservers.",
  bought: "Another account registered the name.",
  ended: "The registration of the name ended, and was not renewed.",
} as const;

/** The reasons that earlier versions of this product wrote, without a `deletes_at`. */
const formerReasons = new Set<string | null>([
  reasons.proved,
  "Another account is buying the name: nobody had registered it.",
]);

/** Whether a domain has lost its name to another account, and is kept for a while. */
export const isDetached = ({ status, deletes_at }: Pick<StoredDomain, "status" | "deletes_at">): boolean =>
  status === "releasing" && deletes_at !== null;

/** The time until which a domain that is being released is kept; undefined when its own account deletes it. */
export function keptUntil({ deletes_at, status_reason, updated_at }: StoredDomain): string | undefined {
  if (deletes_at !== null) return deletes_at;
  return formerReasons.has(status_reason) ? later(new Date(updated_at), keptMs) : undefined;
}

/**
 * Plans the loss of a name by a domain.
 * - The domain keeps its mailboxes, records and the rest for 30 days.
 * - A zone on our nameservers is removed soon.
 */
export async function planLoss(
  table: Reader,
  domain: StoredDomain,
  why: keyof typeof reasons,
  now: Date,
): Promise<{ before: Domain; after: Domain; writes: Write[] }> {
  const deletes_at = later(now, keptMs);
  const { registration } = domain;
  const { after, writes } = domainUpdate(domain, {
    status: "releasing",
    status_reason: reasons[why],
    deletes_at,
    is_open: false,
    failures: 0,
    // Only a domain that was delegated to us can have a zone to remove.
    due_at: domain.verified_at === null ? deletes_at : now.toISOString(),
    updated_at: now.toISOString(),
    ...(why === "ended" && registration ? { registration: { ...registration, status: "expired" } } : {}),
  });
  const [before, shown] = (await domainViews(table, domain.account_id, [domain, after])) as [Domain, Domain];
  return { before, after: shown, writes };
}

/**
 * Plans the takeover of a name from a domain of another account, which gets an event. A domain that is not open, for
 * example because its account is deleting it, does not change.
 */
export async function planTakeover(
  table: Reader,
  { account_id, domain_id }: StoredHolder,
  why: "proved" | "bought",
  now: Date,
): Promise<Write[]> {
  const domain = await domainById(table, account_id, domain_id);
  if (!domain?.is_open) return [];
  const { before, after, writes } = await planLoss(table, domain, why, now);
  const told = change(domainKind, "taken_over", domain_id, { before, after });
  const author = {
    action: "system: domain",
    actor: { type: "system" as const, id: "domains" },
    requestId: randomUUID(),
  };
  return [...writes, ...recordWrites(account_id, [told], author, now)];
}
