import type { Change } from "../../changes/kind.ts";
import { ordinalOf } from "../../core/ids.ts";
import { planRevocation, assignmentsOn, grantsPerTransaction } from "../../grants/assignments.ts";
import type { Expected } from "../../http/route.ts";
import { readList, removeRows, aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write, Key } from "../../table/writes.ts";
import { type Family, type Scoped, scopeKey, scopedKey, aheadOfScoped } from "./family.ts";

type PlannedRemoval = { writes: Write[]; changes: Change[] };
export type Purge = PlannedRemoval & { isAll: boolean };

/**
 * The most writes of a plan that deletes entries together with grants. Each change counts as a write too, because its
 * entry in the audit log is one more write. The caller can add the rest of the 100 writes of a transaction.
 */
const mostWrites = 80;

/** Plans the deletion of the items that belong to some entries, and the changes to record. */
export type PlanDependents<T> = (entries: readonly T[]) => Promise<PlannedRemoval> | PlannedRemoval;

/**
 * Plans the deletion of some entries, and of the grants on them. If one transaction cannot do all of this, the plan
 * only revokes some of the grants, and `isAll` is false. The caller then commits and plans again. The transaction fails
 * if an entry has changed since it was read.
 */
export async function planScopedRemoval<T extends Scoped & { version: number }>(
  family: Family<T>,
  { table, accountId, now }: { table: Reader; accountId: string; now: Date },
  entries: readonly T[],
  planDependents: PlanDependents<T>,
): Promise<Purge> {
  const ordinals = entries.flatMap(({ id }) => ordinalOf(id) ?? []);
  const [assignments, removed, dependents] = await Promise.all([
    Promise.all(entries.map(({ id }) => assignmentsOn(table, accountId, { type: family.type, id }))),
    entries.length > 0 ? readList(table, family.list(accountId), ordinals) : undefined,
    planDependents(entries),
  ]);
  const grants = assignments.flat();
  const revocation = await planRevocation(table, accountId, grants.slice(0, grantsPerTransaction), now);
  const unchanged = new Map(
    entries.map(({ id, version }) => [scopedKey(family, accountId, id).SK, { if: { id, version } }]),
  );
  const rows = removed ? removeRows(removed.state, ordinals) : [];
  const whole = {
    writes: [
      ...rows.map((write) => ("delete" in write ? { ...write, ...unchanged.get(write.delete.SK) } : write)),
      ...entries.map((entry): Write => ({
        delete: scopeKey(accountId, family.prefix, family.scopeOf(entry), entry.id),
      })),
      ...revocation.writes,
      ...dependents.writes,
    ],
    changes: [...revocation.changes, ...dependents.changes],
  };
  const size = whole.writes.length + whole.changes.length;
  const isAll = grants.length === 0 || (grants.length <= grantsPerTransaction && size <= mostWrites);
  return { isAll, ...(isAll ? whole : revocation) };
}

/**
 * The items that are read by `scopedInPath`, and by the plan that deletes the entry. `others` are items that
 * `planDependents` reads. The grants on the entry are not among the items, because they must be read after the version
 * of the entry.
 */
export function aheadOfRemoval<T extends Scoped>(
  family: Family<T>,
  accountId: string,
  id: string,
  expected: Expected,
  others: readonly Key[] = [],
): Ahead {
  const list = aheadOfList(family.list(accountId), [ordinalOf(id) ?? 0], others);
  return {
    keys: [...aheadOfScoped(family, accountId, id, expected).keys, ...(list.keys ?? [])],
  };
}

/**
 * Plans the deletion of the first few entries of a scope that is being deleted. The keys of these entries under the
 * scope begin with the given prefix. `isAll` says that no other entries are left.
 */
export async function planScopedPurge<T extends Scoped & { version: number }>(
  family: Family<T>,
  place: { table: Reader; accountId: string; now: Date },
  { PK, SK }: Key,
  planDependents: PlanDependents<T>,
): Promise<Purge> {
  const { table, accountId } = place;
  const rows = await table.between(PK, SK, `${SK}~`, { limit: family.atOnce + 1 });
  const some = rows
    .slice(0, family.atOnce)
    .map((row) => ({ key: row.SK, id: row.SK.slice(row.SK.lastIndexOf("#") + 1) }));
  const items = await table.getMany(some.map(({ id }) => scopedKey(family, accountId, id)));
  const entries = items.flatMap((item) => (item ? [family.parse(item)] : []));
  const planned = await planScopedRemoval(family, place, entries, planDependents);
  const foundIds = new Set(entries.map(({ id }) => id));
  // Keys without an entry are deleted too. Otherwise every run would find them again.
  const orphans = some.filter(({ id }) => !foundIds.has(id)).map(({ key }): Write => ({ delete: { PK, SK: key } }));
  return { ...planned, writes: [...planned.writes, ...orphans], isAll: planned.isAll && rows.length <= family.atOnce };
}
