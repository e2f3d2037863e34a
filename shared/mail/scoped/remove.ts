import type { Change } from "../../changes/kind.ts";
import { ordinalOf } from "../../core/ids.ts";
import { planRevocation, assignmentsOn } from "../../grants/assignments.ts";
import { readList, removeRows } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { type Family, type MailScope, type Scoped, scopeKey, scopedKey } from "./family.ts";

type Planned = { writes: Write[]; changes: Change[] };
export type Purge = Planned & { isAll: boolean };

const atOnce = 8;
const grantsAtOnce = 10;

/** Plans what is deleted together with some entries, and the changes to record. */
export type WithThem<T> = (things: readonly T[]) => Promise<Planned> | Planned;

/**
 * Plans the deletion of some entries with the grants on them. If there are many grants, it revokes only some of them,
 * and `isAll` is false: the caller has to plan again. An entry that changed since it was read fails the transaction.
 */
export async function planScopedRemoval<T extends Scoped & { version: number }>(
  family: Family<T>,
  { table, accountId, now }: { table: Reader; accountId: string; now: Date },
  things: readonly T[],
  withThem: WithThem<T>,
): Promise<Purge> {
  const bound = await Promise.all(things.map(({ id }) => assignmentsOn(table, accountId, { type: family.type, id })));
  const grants = bound.flat();
  const revocation = await planRevocation(table, accountId, grants.slice(0, grantsAtOnce), now);
  if (grants.length > grantsAtOnce) return { isAll: false, ...revocation };
  const ordinals = things.flatMap(({ id }) => ordinalOf(id) ?? []);
  const { state } = await readList(table, family.list(accountId), ordinals);
  const also = await withThem(things);
  return {
    isAll: true,
    writes: [
      ...(things.length > 0 ? removeRows(state, ordinals) : []),
      ...things.map(({ id, scope_type, scope_id }): Write => ({
        delete: scopeKey(accountId, family.prefix, { type: scope_type, id: scope_id }, id),
      })),
      ...revocation.writes,
      ...also.writes,
    ],
    changes: [...revocation.changes, ...also.changes],
  };
}

/** Plans the deletion of the first few entries of a scope that is being deleted; `isAll` when no others are left. */
export async function planScopedPurge<T extends Scoped & { version: number }>(
  family: Family<T>,
  place: { table: Reader; accountId: string; now: Date },
  scope: MailScope,
  withThem: WithThem<T>,
): Promise<Purge> {
  const { table, accountId } = place;
  const { PK, SK } = scopeKey(accountId, family.prefix, scope);
  const rows = await table.between(PK, SK, `${SK}~`, { limit: atOnce + 1 });
  const ids = rows.slice(0, atOnce).map((row) => row.SK.slice(SK.length));
  const items = await table.getMany(ids.map((id) => scopedKey(family, accountId, id)));
  const things = items.flatMap((item) => (item ? [family.parse(item)] : []));
  const planned = await planScopedRemoval(family, place, things, withThem);
  const isThere = new Set(things.map(({ id }) => id));
  // A key whose entry is gone is deleted too, because it would otherwise be found again and again.
  const left = ids
    .filter((id) => !isThere.has(id))
    .map((id): Write => ({ delete: scopeKey(accountId, family.prefix, scope, id) }));
  return { ...planned, writes: [...planned.writes, ...left], isAll: planned.isAll && rows.length <= atOnce };
}
