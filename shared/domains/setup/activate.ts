import { change } from "../../changes/kind.ts";
import type { Planned, SoleWrites } from "../../changes/recorder.ts";
import { later } from "../../core/time.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { domainKind, holderKey, isRenewing, notReady, type StoredDomain } from "../domain.ts";
import { Dkim, dkimKey, dkimWrite } from "../records/dkim-keys.ts";
import { planRecords } from "../records/plan.ts";
import { systemRecords } from "../records/system-records.ts";
import { domainViews } from "../view.ts";
import { getZone } from "../zone.ts";
import { dueBy } from "./expiry.ts";
import { domainUpdate } from "./work.ts";

/** The time between two checks of an active domain's records, in milliseconds. */
export const recheckMs = 86_400_000;

/**
 * Plans the activation of a domain whose delegation was seen. The caller generates `dkim` before, because a transaction
 * must not wait. A domain that was already delegated to us once needs none.
 * - The account holds the name firmly.
 * - The domain gets its system records, with its own key.
 * - The zone is scheduled to be written to the nameservers.
 */
export async function planActivation(
  table: Reader,
  domain: StoredDomain,
  dkim: Dkim | undefined,
  now: Date,
): Promise<Planned & { after: StoredDomain; sole: SoleWrites }> {
  const { account_id, id, name } = domain;
  const [zone, known] = await Promise.all([getZone(table, account_id, id), table.get(dkimKey(account_id, id), Dkim)]);
  if (!zone) throw notReady(domain.status, `${name} is being deleted.`);
  // A domain that was delegated before has its key and records already.
  const key = known ? undefined : dkim;
  if (!known && !key) throw new Error(`${name} has no key`);
  const records = key ? systemRecords(domain, key, await sendersOf(table, domain)) : [];
  // System records are added even above the limit of records.
  const edit = { zone, added: records, isSystem: true, wanted: true };
  const { sole, changes } = await planRecords(table, account_id, [edit], now);
  const at = now.toISOString();
  const { after, writes } = domainUpdate(domain, {
    status: "active",
    status_reason: null,
    verified_at: domain.verified_at ?? at,
    updated_at: at,
    record_count: domain.record_count + records.length,
    failures: 0,
    // A renewal is advanced at its own times, and the checks follow it.
    due_at: isRenewing(domain) ? domain.due_at : dueBy(domain, later(now, recheckMs * (0.9 + Math.random() / 5)), now),
  });
  const [seenBefore, seenAfter] = (await domainViews(table, account_id, [domain, after])) as [object, object];
  const verb = domain.status === "degraded" ? "recovered" : "verified";
  const holder: Write = {
    update: holderKey(name),
    set: { firm: true },
    if: { domain_id: id },
    orElse: () => notReady("releasing", `Another account has ${name}.`),
  };
  return {
    after,
    writes: [...writes, holder, ...(key ? [dkimWrite(account_id, id, key)] : [])],
    sole,
    changes: [change(domainKind, verb, id, { before: seenBefore, after: seenAfter }), ...changes],
  };
}
