import { change } from "../changes/kind.ts";
import { planAdded } from "../dns-records/plan.ts";
import { Problem } from "../errors.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { getZone, noteChanges } from "../zones/zone.ts";
import { Dkim, dkimKey, dkimWrite } from "./dkim.ts";
import { domainKind, holderKey, type StoredDomain } from "./domain.ts";
import { systemRecords } from "./system-records.ts";
import { domainViews } from "./view.ts";
import { becoming, later, type Planned } from "./work.ts";

/** How often an active domain's records are looked at without anybody asking. */
export const recheckMs = 86_400_000;

/**
 * What makes a domain active whose delegation was seen: its name is firmly the account's, it has its system records
 * with a key of its own, and its zone goes to the nameservers. `dkim` was made before, as a transaction must not wait.
 */
export async function planActivation(
  table: Reader,
  domain: StoredDomain,
  dkim: Dkim,
  now: Date,
): Promise<Planned & { after: StoredDomain }> {
  const { account_id, id, name } = domain;
  const [zone, known] = await Promise.all([getZone(table, account_id, id), table.get(dkimKey(account_id, id), Dkim)]);
  if (!zone) throw new Problem("domain_not_ready", `${name} is going away.`, { status: domain.status });
  // One that was delegated before has everything already.
  const records = known ? [] : systemRecords(domain, dkim);
  const added =
    records.length === 0
      ? { writes: noteChanges(zone, [], now, true), changes: [] }
      : await planAdded(table, domain, zone, records, { now, isSystem: true, wanted: true });
  const at = now.toISOString();
  const { after, writes } = becoming(domain, {
    status: "active",
    status_reason: null,
    verified_at: domain.verified_at ?? at,
    updated_at: at,
    record_count: domain.record_count + records.length,
    failures: 0,
    due_at: later(now, recheckMs * (0.9 + Math.random() / 5)),
  });
  const [seenBefore, seenAfter] = (await domainViews(table, account_id, [domain, after])) as [object, object];
  const holder: Write = {
    update: holderKey(name),
    set: { firm: true },
    if: { domain_id: id },
    orElse: () => new Problem("domain_not_ready", `${name} is another account's now.`, { status: "releasing" }),
  };
  return {
    after,
    writes: [...writes, holder, ...(known ? [] : [dkimWrite(account_id, id, dkim)]), ...added.writes],
    changes: [change(domainKind, "verified", id, { before: seenBefore, after: seenAfter }), ...added.changes],
  };
}
