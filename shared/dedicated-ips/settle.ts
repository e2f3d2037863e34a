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
 * The result of one transaction of an operation: whether the operation is over, the dedicated IP after it, and the
 * domains that it moved.
 */
export type BatchResult = { isOver: boolean; ip: StoredIp; moved: string[] };

/** The plan of the work that follows the move, for the next few domains of an operation. */
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
  if (current?.id !== operation.id) return { value: { isOver: true, ip, moved: [] }, writes: [], changes: [] };
  const moved = current.left.slice(0, domainsPerTransaction);
  const left = current.left.slice(domainsPerTransaction);
  const domains = isDeepStrictEqual(expected, moved) ? early : await domainsByIds(table, account_id, moved);
  const places = kind === "assign" ? placesOf(ip, domains) : await placesLeft(table, ip, moved);
  const after = {
    ...ip,
    // A count below zero comes from reads at different moments, and such a transaction fails anyway.
    domain_count: Math.max(0, ip.domain_count + places.count),
    updated_at: now.toISOString(),
    version: ip.version + 1,
  };
  const follows = await Promise.all(domains.map((domain) => planFollowing(table, domain, operation)));
  const edits = follows.flatMap((one) => one.edits);
  const records = await planRecords(table, account_id, edits, now);
  const isOver = left.length === 0;
  const verb = kind === "assign" ? "domains_assigned" : "domains_unassigned";
  const told = isOver ? [ipChange(verb, { ...ip, domain_count: current.domain_count }, after)] : [];
  return {
    value: { isOver, ip: after, moved },
    writes: [
      ...shrinkWrites(current, left),
      {
        update: ipKey(account_id, ip.id),
        set: { updated_at: after.updated_at },
        add: { domain_count: places.count, version: 1 },
        if: { id: ip.id, version: ip.version },
      },
      ...places.writes,
      ...follows.map(({ unchanged }) => unchanged),
    ],
    sole: records.sole,
    changes: [...follows.map(({ told }) => told), ...records.changes, ...told],
    housekeeping: true,
    partial: !isOver,
  };
}

type PlannedPlaces = { count: number; writes: Write[] };

/** The writes that list domains at a dedicated IP; domains that are gone are skipped. */
const placesOf = ({ account_id, id }: StoredIp, domains: readonly StoredDomain[]): PlannedPlaces => ({
  count: domains.length,
  writes: domains.map((domain) => ({
    put: { ...ipDomainKey(account_id, id, domain.id), domain_id: domain.id },
    if: "absent",
  })),
});

/**
 * The writes that remove domains from the list of a dedicated IP; the entry of a deleted domain may be gone already.
 */
async function placesLeft(table: Reader, { account_id, id }: StoredIp, ids: readonly string[]): Promise<PlannedPlaces> {
  const keys = ids.map((domainId) => ipDomainKey(account_id, id, domainId));
  const rows = await table.getMany(keys);
  const left = keys.filter((_, index) => rows[index] !== undefined);
  return { count: -left.length, writes: left.map((key) => ({ delete: key, if: "present" })) };
}

/**
 * The new SPF record of a domain that moved, and its recorded change. Fails the transaction when the domain changes.
 */
async function planFollowing(
  table: Reader,
  domain: StoredDomain,
  { account_id, dedicated_ip_id, kind }: StoredOperation,
): Promise<{ unchanged: Write; edits: RecordEdit[]; told: Change }> {
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
    told: change(domainKind, "updated", id, { before, after }),
  };
}

/**
 * Drops an operation that moved nothing. The request that began it may still be running slowly. Its move and this
 * transaction both need the domain `fence` unchanged, so only one of them succeeds.
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

/** Takes over an abandoned operation: completes it if it moved anything, else drops it. */
export async function resumeOperation(operation: StoredOperation, mover: Mover): Promise<void> {
  const { table, commit, now } = mover;
  const domains = await domainsByIds(table, operation.account_id, operation.left);
  const [fence] = domains;
  if (fence && !hasMoved(operation, domains)) return drop(operation, mover, fence);
  const some = () => commit(async () => ({ ...(await planBatch(table, operation, now())), partial: true }));
  while ((await some())?.isOver === false) continue;
}
