import { isDeepStrictEqual } from "node:util";

import type { Change } from "../changes/kind.ts";
import type { ChangePlan, Writer } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { domainKey, type StoredDomain } from "../domains/domain.ts";
import { domainsByIds } from "../domains/find.ts";
import { planRecords, type RecordEdit } from "../domains/records/plan.ts";
import { domainChange } from "../domains/view.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { ipChange } from "./change.ts";
import { ipById, ipDomainKey, ipKey, type StoredIp } from "./dedicated-ip.ts";
import { hasMoved } from "./moves.ts";
import { readOperation, shrinkWrites, type StoredOperation } from "./operation.ts";
import { spfEdits } from "./spf.ts";

/**
 * How many domains one transaction settles. A domain takes about eight of the transaction's 100 writes, with its SPF
 * record and its entries in the audit log.
 */
const domainsPerTransaction = 10;

/**
 * The result of one transaction that settles domains: whether the operation is over, the dedicated IP after the
 * transaction, and the ids of the settled domains.
 */
export type BatchResult = { isOver: boolean; ip: StoredIp; settled: string[] };

/**
 * Plans to settle the next ten moved domains of an operation: the entries at the dedicated IP, the SPF records and the
 * recorded changes. The value is undefined if the dedicated IP does not exist.
 */
export async function planBatch(
  table: Reader,
  operation: StoredOperation,
  now: Date,
): Promise<ChangePlan<BatchResult | undefined>> {
  const { account_id, dedicated_ip_id, kind } = operation;
  const expected = operation.left.slice(0, domainsPerTransaction);
  const [current, ip, likelyDomains] = await Promise.all([
    readOperation(table, account_id, dedicated_ip_id),
    ipById(table, account_id, dedicated_ip_id),
    domainsByIds(table, account_id, expected),
  ]);
  if (!ip) return { value: undefined, writes: [], changes: [] };
  if (current?.id !== operation.id) return { value: { isOver: true, ip, settled: [] }, writes: [], changes: [] };
  const settled = current.left.slice(0, domainsPerTransaction);
  const remaining = current.left.slice(domainsPerTransaction);
  const domains = isDeepStrictEqual(expected, settled) ? likelyDomains : await domainsByIds(table, account_id, settled);
  const listing = kind === "assign" ? planListing(ip, domains) : await planUnlisting(table, ip, settled);
  const after = {
    ...ip,
    // Never negative, so that the view is valid. If the count is older than the entries, the transaction fails.
    domain_count: Math.max(0, ip.domain_count + listing.count),
    updated_at: now.toISOString(),
    version: ip.version + 1,
  };
  const domainPlans = await Promise.all(domains.map((domain) => planDomain(table, domain, operation)));
  const edits = domainPlans.flatMap((plan) => plan.edits);
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
      ...domainPlans.map(({ unchanged }) => unchanged),
    ],
    sole: records.sole,
    changes: [...domainPlans.map((plan) => plan.change), ...records.changes, ...summary],
    housekeeping: true,
    partial: !isOver,
  };
}

/** The writes of entries at a dedicated IP. `count` is the change of the number of its domains. */
type PlannedListing = { count: number; writes: Write[] };

/** Plans to add the entries of domains to a dedicated IP. */
const planListing = ({ account_id, id }: StoredIp, domains: readonly StoredDomain[]): PlannedListing => ({
  count: domains.length,
  writes: domains.map((domain) => ({
    put: { ...ipDomainKey(account_id, id, domain.id), domain_id: domain.id },
    if: "absent",
  })),
});

/**
 * Plans to remove the entries of domains from a dedicated IP. Skips domains without an entry, such as deleted domains.
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

/** Plans the SPF record of a moved domain, the change to record, and a check that the domain is unchanged. */
async function planDomain(
  table: Reader,
  domain: StoredDomain,
  { account_id, dedicated_ip_id, kind }: StoredOperation,
): Promise<{ unchanged: Write; edits: RecordEdit[]; change: Change }> {
  const { id, version } = domain;
  const [oldIpId, newIpId] = kind === "assign" ? [null, dedicated_ip_id] : [dedicated_ip_id, null];
  const before = { ...domain, dedicated_ip_id: oldIpId };
  const [edits, updated] = await Promise.all([
    spfEdits(table, domain),
    domainChange(table, "updated", before, { ...domain, dedicated_ip_id: newIpId }),
  ]);
  return { unchanged: { check: domainKey(account_id, id), if: { id, version } }, edits, change: updated };
}

/**
 * Drops an operation that has moved no domain. The request of the operation may still be running and move the domains.
 * So pass one of the domains as `fence`. The move and this transaction both change the version of this domain, so only
 * one of the two succeeds. Leave `fence` out only if the move cannot happen any more. Throws 503 `busy` if the move was
 * faster.
 */
export const dropOperation = (
  operation: StoredOperation,
  { table, commit }: Writer,
  fence?: StoredDomain,
): Promise<void> =>
  commit(async () => {
    const current = await readOperation(table, operation.account_id, operation.dedicated_ip_id);
    if (current?.id !== operation.id) return { value: undefined, writes: [], changes: [], partial: true };
    const fenceWrites: Write[] = fence
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
      writes: [...shrinkWrites(current, []), ...fenceWrites],
      changes: [],
      housekeeping: true,
      partial: true,
    };
  });

/** Drops an abandoned operation that has moved no domain. Finishes any other abandoned operation. */
export async function resumeOperation(operation: StoredOperation, context: Writer): Promise<void> {
  const { table, commit, now } = context;
  const domains = await domainsByIds(table, operation.account_id, operation.left);
  const [fence] = domains;
  if (fence && !hasMoved(operation, domains)) return dropOperation(operation, context, fence);
  const settleBatch = () => commit(async () => ({ ...(await planBatch(table, operation, now())), partial: true }));
  while ((await settleBatch())?.isOver === false) continue;
}
