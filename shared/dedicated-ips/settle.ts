import { isDeepStrictEqual } from "node:util";

import { change, type Change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { domainKey, domainKind, type StoredDomain } from "../domains/domain.ts";
import { domainsByIds } from "../domains/find.ts";
import { planRecords, type RecordEdit } from "../domains/records/plan.ts";
import { domainViews } from "../domains/view.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { ipById, ipDomainKey, ipKey, type StoredIp } from "./dedicated-ip.ts";
import { hasMoved } from "./moves.ts";
import { readOperation, shrinkWrites, type StoredOperation } from "./operation.ts";
import { spfEdits } from "./spf.ts";
import { ipChange, type Mover } from "./work.ts";

/** Each domain takes some eight writes, with its SPF record and its entries in the audit log. */
const domainsPerTransaction = 10;

/**
 * The result of one transaction of an operation: whether the operation is over, the dedicated IP after the transaction,
 * and the domains whose follow-up work the transaction did.
 */
export type BatchResult = { isOver: boolean; ip: StoredIp; settled: string[] };

/**
 * Plans the work that follows the move, for the next few domains of an operation. The value is undefined if the
 * dedicated IP is gone.
 */
export async function planBatch(
  table: Reader,
  operation: StoredOperation,
  now: Date,
): Promise<ChangePlan<BatchResult | undefined>> {
  const { account_id, dedicated_ip_id, kind } = operation;
  const expected = operation.left.slice(0, domainsPerTransaction);
  const [current, ip, early] = await Promise.all([
    readOperation(table, account_id, dedicated_ip_id),
    ipById(table, account_id, dedicated_ip_id),
    domainsByIds(table, account_id, expected),
  ]);
  if (!ip) return { value: undefined, writes: [], changes: [] };
  if (current?.id !== operation.id) return { value: { isOver: true, ip, settled: [] }, writes: [], changes: [] };
  const settled = current.left.slice(0, domainsPerTransaction);
  const remaining = current.left.slice(domainsPerTransaction);
  const domains = isDeepStrictEqual(expected, settled) ? early : await domainsByIds(table, account_id, settled);
  const listing = kind === "assign" ? planListing(ip, domains) : await planUnlisting(table, ip, settled);
  const after = {
    ...ip,
    // The reads are of different moments, so the count can be below zero here. Such a transaction fails.
    domain_count: Math.max(0, ip.domain_count + listing.count),
    updated_at: now.toISOString(),
    version: ip.version + 1,
  };
  const follows = await Promise.all(domains.map((domain) => planFollowing(table, domain, operation)));
  const edits = follows.flatMap((one) => one.edits);
  const records = await planRecords(table, account_id, edits, now);
  const isOver = remaining.length === 0;
  const verb = kind === "assign" ? "domains_assigned" : "domains_unassigned";
  const summary = isOver ? [ipChange(verb, { ...ip, domain_count: current.domain_count }, after)] : [];
  return {
    value: { isOver, ip: after, settled },
    writes: [
      ...shrinkWrites(current, remaining),
      {
        update: ipKey(account_id, ip.id),
        set: { updated_at: after.updated_at },
        add: { domain_count: listing.count, version: 1 },
        if: { id: ip.id, version: ip.version },
      },
      ...listing.writes,
      ...follows.map(({ unchanged }) => unchanged),
    ],
    sole: records.sole,
    changes: [...follows.map((one) => one.change), ...records.changes, ...summary],
    housekeeping: true,
    partial: !isOver,
  };
}

/** The change of the number of domains that a dedicated IP lists, and its writes. */
type PlannedListing = { count: number; writes: Write[] };

/** The writes that list domains at a dedicated IP. */
const planListing = ({ account_id, id }: StoredIp, domains: readonly StoredDomain[]): PlannedListing => ({
  count: domains.length,
  writes: domains.map((domain) => ({
    put: { ...ipDomainKey(account_id, id, domain.id), domain_id: domain.id },
    if: "absent",
  })),
});

/**
 * The writes that remove domains from the list of a dedicated IP. The entry of a deleted domain may be gone already.
 */
async function planUnlisting(
  table: Reader,
  { account_id, id }: StoredIp,
  ids: readonly string[],
): Promise<PlannedListing> {
  const keys = ids.map((domainId) => ipDomainKey(account_id, id, domainId));
  const rows = await table.getMany(keys);
  const present = keys.filter((_, index) => rows[index] !== undefined);
  return { count: -present.length, writes: present.map((key) => ({ delete: key, if: "present" })) };
}

/** The new SPF record of a domain that moved, the recorded change, and a check that the domain is unchanged. */
async function planFollowing(
  table: Reader,
  domain: StoredDomain,
  { account_id, dedicated_ip_id, kind }: StoredOperation,
): Promise<{ unchanged: Write; edits: RecordEdit[]; change: Change }> {
  const { id, version } = domain;
  const [former, latter] = kind === "assign" ? [null, dedicated_ip_id] : [dedicated_ip_id, null];
  const [edits, views] = await Promise.all([
    spfEdits(table, domain),
    domainViews(table, account_id, [
      { ...domain, dedicated_ip_id: former },
      { ...domain, dedicated_ip_id: latter },
    ]),
  ]);
  const [before, after] = views as [object, object];
  return {
    unchanged: { check: domainKey(account_id, id), if: { id, version } },
    edits,
    change: change(domainKind, "updated", id, { before, after }),
  };
}

/**
 * Drops an operation that moved nothing. The request that began it may still be running. Its move and this transaction
 * both change the version of the domain `fence`, so only one of them succeeds. Without `fence` the caller knows that the
 * move will not happen.
 */
export const drop = (operation: StoredOperation, { table, commit }: Mover, fence?: StoredDomain): Promise<void> =>
  commit(async () => {
    const current = await readOperation(table, operation.account_id, operation.dedicated_ip_id);
    if (current?.id !== operation.id) return { value: undefined, writes: [], changes: [], partial: true };
    const fencing: Write[] = fence
      ? [
          {
            update: domainKey(fence.account_id, fence.id),
            add: { version: 1 },
            if: { id: fence.id, version: fence.version },
            orElse: () =>
              new Problem("busy", "Domains of this dedicated IP are being moved. Try again.", { retry_after: 1 }),
          },
        ]
      : [];
    return {
      value: undefined,
      writes: [...shrinkWrites(current, []), ...fencing],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });

/** Drops an abandoned operation that moved nothing. Completes one that moved its domains, or whose domains are gone. */
export async function resumeOperation(operation: StoredOperation, mover: Mover): Promise<void> {
  const { table, commit, now } = mover;
  const domains = await domainsByIds(table, operation.account_id, operation.left);
  const [fence] = domains;
  if (fence && !hasMoved(operation, domains)) return drop(operation, mover, fence);
  const doBatch = () => commit(async () => ({ ...(await planBatch(table, operation, now())), partial: true }));
  while ((await doBatch())?.isOver === false) continue;
}
