import { Problem } from "../../core/errors.ts";
import { sendersOf } from "../../dedicated-ips/spf.ts";
import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { namedAtMost } from "../records/add.ts";
import { recordsAround } from "../records/delegations.ts";
import { type RecordEdit, parsedOf } from "../records/plan.ts";
import type { ParsedRecord } from "../records/record.ts";
import { recordsIn, type StoredRecord } from "../records/stored-record.ts";
import { dmarcRecord, reservedFor, settingRecords, type SystemRecord } from "../records/system-records.ts";
import { getZone } from "../zone.ts";

type Place = Pick<ParsedRecord, "name" | "type">;

const isSamePlace = (one: Place, other: Place): boolean => one.name === other.name && one.type === other.type;

const isSameRecord = (one: ParsedRecord, other: ParsedRecord): boolean =>
  isSamePlace(one, other) && one.value === other.value;

/** The changes of records that follow a change of settings, and by how many records the domain grows. */
type SettingEdits = { edits: RecordEdit[]; growth: number };

/**
 * Plans the changes of system records that follow a change of a domain's settings. Plans nothing for a domain that does
 * not have its system records yet. Throws 409 `record_conflict` if the customer has records in the places that the
 * settings need, or has delegated a name above these places.
 */
export async function settingEdits(table: Reader, before: StoredDomain, after: StoredDomain): Promise<SettingEdits> {
  const { account_id, id } = before;
  const senders = await sendersOf(table, after);
  const [former, wanted] = [settingRecords(before, senders), settingRecords(after, senders)];
  const leaving = former.filter((record) => !wanted.some((other) => isSameRecord(record, other)));
  const coming = wanted.filter((record) => !former.some((other) => isSameRecord(record, other)));
  if (leaving.length + coming.length === 0) return { edits: [], growth: 0 };
  // The DMARC record is read too, because it shows whether the domain has its system records.
  const [zone, found] = await Promise.all([
    getZone(table, account_id, id),
    recordsAround(table, before, [...leaving, ...coming, dmarcRecord(after)]),
  ]);
  requireRoomFor(found, before, after);
  const own = found.filter(({ is_system_managed }) => is_system_managed);
  if (!zone || own.length === 0) return { edits: [], growth: 0 };
  const replaceable = own.filter((record) => leaving.some((one) => isSamePlace(one, record)));
  const updated: { before: StoredRecord; after: ParsedRecord }[] = [];
  const added: ParsedRecord[] = [];
  // A coming record takes the place of a leaving record of the same name and type. The leaving records that are left
  // over are removed.
  for (const record of coming) {
    const index = replaceable.findIndex((one) => isSamePlace(one, record));
    const [replaced] = index < 0 ? [] : replaceable.splice(index, 1);
    if (replaced) updated.push({ before: replaced, after: { ...parsedOf(replaced), value: record.value } });
    else added.push(record);
  }
  const edit = { zone, updated, added, removed: replaceable, isSystem: true };
  return { edits: [edit], growth: added.length - replaceable.length };
}

/** Throws 409 `record_conflict` if the customer has records that the new settings exclude. */
function requireRoomFor(records: readonly StoredRecord[], before: StoredDomain, after: StoredDomain): void {
  const inTheWay = records.filter(
    (record) =>
      !record.is_system_managed &&
      reservedFor(record, after) !== undefined &&
      reservedFor(record, before) === undefined,
  );
  if (inTheWay.length === 0) return;
  const some = inTheWay.slice(0, namedAtMost);
  const named = some.map(({ name, type }) => `${name} ${type}`).join(", ");
  const detail = `The settings need the places of your own records (${named}). Delete these records, and change the settings again.`;
  throw new Problem("record_conflict", detail, { conflicts_with: some.map(({ id }) => id) });
}

/**
 * The system records that a new zone can have. Leaves out the records of the redirect if the customer has records in
 * their places: earlier versions of this product stored a redirect without reserving these places.
 */
export async function withoutTaken(
  table: Reader,
  domain: StoredDomain,
  records: readonly SystemRecord[],
): Promise<SystemRecord[]> {
  const names = new Set(records.flatMap(({ purpose, name }) => (purpose === "redirect" ? [name] : [])));
  const found = await Promise.all([...names].map((name) => recordsIn(table, domain.account_id, domain.id, name)));
  const isTaken = found.flat().some((record) => reservedFor(record, domain) !== undefined);
  return records.filter(({ purpose }) => purpose !== "redirect" || !isTaken);
}
