import type { Planned, SoleWrites } from "../../changes/recorder.ts";
import { inAboutADay, later, minuteMs } from "../../core/time.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { holderKey, isRenewing, notReady, provedAgainMembers, type StoredDomain } from "../domain.ts";
import { Dkim, dkimKey, dkimWrite, type KeyPair } from "../records/dkim-keys.ts";
import { planRecords } from "../records/plan.ts";
import { recordsIn } from "../records/stored-record.ts";
import { systemRecords, type SystemRecord } from "../records/system-records.ts";
import { domainChange } from "../view.ts";
import { subzoneWrites } from "../zone-neighbours.ts";
import { getZone } from "../zone.ts";
import { dueBy } from "./expiry.ts";
import { withoutTaken } from "./setting-records.ts";
import { domainUpdate } from "./work.ts";

/**
 * The time of the next check of a domain without faults: about a day later. An external domain that cannot send yet is
 * checked sooner: the wait is as long as the time since the proof of its name, but at least a minute.
 */
export function nextRecheck({ dns_mode, sending_ready, verified_at }: StoredDomain, now: Date): string {
  const tomorrow = inAboutADay(now);
  if (dns_mode === "hosted" || sending_ready) return tomorrow;
  const waitedMs = verified_at === null ? 0 : now.getTime() - Date.parse(verified_at);
  const soon = later(now, Math.max(minuteMs, waitedMs));
  return soon < tomorrow ? soon : tomorrow;
}

/** The system records that a hosted domain lacks: all or none. A domain that was hosted before has all of them. */
async function lackingRecords(table: Reader, domain: StoredDomain, dkim: KeyPair | undefined): Promise<SystemRecord[]> {
  const { account_id, id, name } = domain;
  const [records, senders] = await Promise.all([recordsIn(table, account_id, id), sendersOf(table, domain)]);
  if (records.some(({ is_system_managed }) => is_system_managed)) return [];
  if (!dkim) throw new Error(`${name} has no key`);
  return systemRecords(domain, dkim, senders);
}

/**
 * Plans the activation of a domain whose name was proved.
 * - The account's hold on the name becomes firm, so that no other account can take the name over (`StoredHolder`).
 * - A domain without a DKIM key gets the key `dkim`. The caller makes this key before the transaction, because a
 *   transaction must not wait for a new key.
 * - A hosted domain gets its system records, and the nameservers get its zone soon.
 *
 * The transaction fails with 409 `domain_not_ready` if the domain has lost its name.
 */
export async function planActivation(
  table: Reader,
  domain: StoredDomain,
  dkim: KeyPair | undefined,
  now: Date,
): Promise<Planned & { after: StoredDomain; sole?: SoleWrites }> {
  const { account_id, id, name, dns_mode } = domain;
  const [zone, known] = await Promise.all([getZone(table, account_id, id), table.get(dkimKey(account_id, id), Dkim)]);
  if (!zone) throw notReady(domain.status, `${name} is being deleted.`);
  const isHosted = dns_mode === "hosted";
  const lacking = isHosted ? await lackingRecords(table, domain, known ?? dkim) : [];
  const records = await withoutTaken(table, domain, lacking);
  // System records are added even above the limit of records.
  const edit = { zone, added: records, isSystem: true, wanted: true };
  const { sole, changes } = isHosted
    ? await planRecords(table, account_id, [edit], now)
    : { sole: undefined, changes: [] };
  const at = now.toISOString();
  const { after, writes } = domainUpdate(domain, {
    status: "active",
    status_reason: null,
    broken_records: [],
    verified_at: domain.verified_at ?? at,
    updated_at: at,
    record_count: domain.record_count + records.length,
    failures: 0,
    ...provedAgainMembers(domain),
    // While a renewal runs, the domain is due at the times of the renewal. The checks go on after the renewal.
    due_at: isRenewing(domain) ? domain.due_at : dueBy(domain, nextRecheck(domain, now), now),
  });
  const verb = domain.status === "degraded" ? "recovered" : "verified";
  const holder: Write = {
    update: holderKey(name),
    set: { firm: true },
    if: { domain_id: id },
    orElse: () => notReady("releasing", `Another account has ${name}.`),
  };
  return {
    after,
    writes: [
      ...writes,
      holder,
      ...(dkim && !known ? [dkimWrite(account_id, id, dkim)] : []),
      ...(isHosted ? subzoneWrites(domain) : []),
    ],
    ...(sole ? { sole } : {}),
    changes: [await domainChange(table, verb, domain, after), ...changes],
  };
}
