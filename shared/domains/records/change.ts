import * as z from "zod";

import { notFound, Problem } from "../../core/errors.ts";
import { isSame } from "../../core/fields.ts";
import { Id } from "../../core/ids.ts";
import type { Context, ResourceLookup } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import { domainById, scopesOfDomain } from "../find.ts";
import { openHome, readRecord, recordCountWrite, requireRoom } from "./add.ts";
import { parsedOf, planRecords } from "./plan.ts";
import type { RecordInput } from "./record.ts";
import { largestId, recordById, type StoredRecord } from "./stored-record.ts";

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
    const domain = record && (await domainById(table, account_id, record.domain_id));
    return domain && { id: String(record.id), scopes: scopesOfDomain(domain), thing: { record, domain } };
  },
};

function requireOwn({ is_system_managed }: StoredRecord): void {
  if (!is_system_managed) return;
  throw new Problem("system_managed", "The domain's settings manage this record. It changes only with them.");
}

/** Reads the current state of a record, for one transaction. Throws 404. */
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

/** Changes a record; 404, 409 as `requireRoom` and `domain_not_ready`, 422. */
export function changeRecord(found: FoundRecord, change: RecordChange, context: Context): Promise<StoredRecord> {
  const { table, commit, now } = context;
  return commit(async () => {
    const before = await currentRecord(found.record, context);
    requireOwn(before);
    const { home, zone } = await openHome(table, before.account_id, before.domain_id);
    const { id: _, ...stored } = parsedOf(before);
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const after = readRecord({ ...stored, ...given }, home.name);
    if (isSame(parsedOf(before), { id: before.id, ...after })) {
      return { value: { ...before, zone_status: "pending" as const }, writes: [], changes: [], seen: before };
    }
    await requireRoom(table, home, after, before.id);
    const edit = { zone, updated: [{ before, after }] };
    const { records, ...planned } = await planRecords(table, before.account_id, [edit], now());
    const [updated] = records;
    if (!updated) throw new Error("nothing was changed");
    return {
      value: { ...updated, zone_status: "pending" as const },
      writes: [recordCountWrite(home, 0)],
      ...planned,
    };
  });
}

/** Removes a record; 404, 409 `system_managed`, `domain_not_ready`. */
export function removeRecord(found: FoundRecord, context: Context): Promise<void> {
  const { table, commit, now } = context;
  return commit(async () => {
    const record = await currentRecord(found.record, context);
    requireOwn(record);
    const { home, zone } = await openHome(table, record.account_id, record.domain_id);
    const { sole, changes } = await planRecords(table, record.account_id, [{ zone, removed: [record] }], now());
    return { value: undefined, writes: [recordCountWrite(home, -1)], sole, changes };
  });
}
