import * as z from "zod";

import { notFound, Problem } from "../../core/errors.ts";
import { isSame } from "../../core/fields.ts";
import { Id } from "../../core/ids.ts";
import type { Context, ResourceLookup, Expected } from "../../http/route.ts";
import { aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Key } from "../../table/writes.ts";
import type { StoredDomain } from "../domain.ts";
import { domainKey } from "../domain.ts";
import { domainById, scopesOfDomain } from "../find.ts";
import { zoneKey, getZone } from "../zone.ts";
import {
  openDomain,
  openForRemoval,
  readRecord,
  recordCountWrite,
  requireNoConflict,
  type ChangedRecord,
} from "./add.ts";
import { parsedOf, planRecords } from "./plan.ts";
import type { RecordInput } from "./record.ts";
import { largestId, recordById, StoredRecord, recordKey, recordsOf } from "./stored-record.ts";

export const RecordParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  record_id: z.int().min(1).max(largestId).meta({ description: "The record's id, an integer." }),
});

type FoundRecord = { record: StoredRecord; domain: StoredDomain };

/** The record in the path of a route, with its domain. */
export const recordInPath: ResourceLookup<{ params: z.output<typeof RecordParams> }, FoundRecord> = {
  at: "path",
  within: ["domain", "workspace"],
  find: async ({ params: { account_id, record_id } }, table) => {
    const record = await recordById(table, account_id, record_id);
    if (!record) return undefined;
    table.seen?.note({ ...recordKey(account_id, record_id), ...record });
    // The zone is not used here. It is read together with the domain, so that the later plan or view need not read it:
    // `aheadOfRecord` keeps the zone for them.
    const { domain_id } = record;
    const [domain] = await Promise.all([
      domainById(table, account_id, domain_id),
      getZone(table, account_id, domain_id),
    ]);
    if (!domain) return undefined;
    const label = `${record.name} ${record.type} of ${domain.name}`;
    return { id: String(record.id), scopes: scopesOfDomain(domain), thing: { record, domain }, label };
  },
};

type RecordParams = z.output<typeof RecordParams>;

/**
 * The items that `recordInPath` reads, and that the later plan or view reads again. If this process has not seen the
 * record, only the item of the record.
 */
export function aheadOfRecord({ account_id, record_id }: RecordParams, { seen }: Expected): Ahead & { keys: Key[] } {
  const key = recordKey(account_id, record_id);
  const id = StoredRecord.safeParse(seen.recall(key)).data?.domain_id;
  const once = [key, ...(id === undefined ? [] : [domainKey(account_id, id), zoneKey(account_id, id)])];
  return { keys: [...once, ...once], again: true };
}

/** The items that `recordInPath` and `removeRecord` read. */
export function aheadOfRecordRemoval(params: RecordParams, expected: Expected): Ahead {
  const { keys, ...ahead } = aheadOfRecord(params, expected);
  return { ...ahead, ...aheadOfList(recordsOf(params.account_id), [params.record_id - 1], keys) };
}

function requireOwn({ is_system_managed }: StoredRecord): void {
  if (!is_system_managed) return;
  throw new Problem(
    "system_managed",
    "The domain's settings manage this record. To change the record, change these settings.",
  );
}

/** Reads the current state of a record, for one transaction. Throws 404 if the record was deleted. */
async function currentRecord({ account_id, id }: StoredRecord, { table }: Context): Promise<StoredRecord> {
  const record = await recordById(table, account_id, id);
  if (!record) throw notFound();
  return record;
}

/**
 * The members of a record that can change: all but its domain and type. A member that the record's type does not have
 * is refused.
 */
export type RecordChange = { [M in Exclude<keyof RecordInput, "type">]?: RecordInput[M] | undefined };

/**
 * Changes a record. Throws:
 * - 404 if the record was deleted;
 * - 409 `system_managed` if the record is a system record;
 * - the errors of `readRecord`, `openDomain` and `requireNoConflict`.
 */
export async function changeRecord(found: FoundRecord, change: RecordChange, context: Context): Promise<ChangedRecord> {
  const { table, commit, now } = context;
  let isServed = false;
  const record = await commit(async () => {
    const before = await currentRecord(found.record, context);
    requireOwn(before);
    const { domain, zone } = await openDomain(table, before.account_id, before.domain_id);
    isServed = zone.wanted;
    const { id: _, ...stored } = parsedOf(before);
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const after = readRecord({ ...stored, ...given }, domain.name);
    if (isSame(parsedOf(before), { id: before.id, ...after })) {
      return { value: { ...before, zone_status: "pending" as const }, writes: [], changes: [], current: before };
    }
    await requireNoConflict(table, domain, after, before.id);
    const edit = { zone, updated: [{ before, after }] };
    const { records, ...planned } = await planRecords(table, before.account_id, [edit], now());
    const [updated] = records;
    if (!updated) throw new Error("nothing was changed");
    return {
      value: { ...updated, zone_status: "pending" as const },
      // The count stays the same, but the transaction must fail if the domain has changed.
      writes: [recordCountWrite(domain, 0)],
      ...planned,
    };
  });
  return { record, isServed };
}

/**
 * Removes a record, and returns whether the nameservers should have the record's zone. A record that our nameservers do
 * not serve can be removed too, because it can prevent a change of the domain's settings. Throws:
 * - 404 if the record was deleted;
 * - 409 `system_managed` if the record is a system record;
 * - the errors of `openForRemoval`.
 */
export async function removeRecord(found: FoundRecord, context: Context): Promise<{ isServed: boolean }> {
  const { table, commit, now } = context;
  let isServed = false;
  await commit(async () => {
    const record = await currentRecord(found.record, context);
    requireOwn(record);
    const { domain, zone } = await openForRemoval(table, record.account_id, record.domain_id);
    isServed = zone.wanted;
    const { sole, changes } = await planRecords(table, record.account_id, [{ zone, removed: [record] }], now());
    return { value: undefined, writes: [recordCountWrite(domain, -1)], sole, changes };
  });
  return { isServed };
}
