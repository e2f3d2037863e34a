import { change, type Change } from "../../changes/kind.ts";
import { SoleWrites } from "../../changes/recorder.ts";
import { changeRows, readList } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Item, Write } from "../../table/writes.ts";
import { noteChanges, type StoredZone } from "../zone.ts";
import type { ParsedRecord } from "./record.ts";
import { recordPlaceKey, recordKey, recordKind, recordsOf, type StoredRecord } from "./stored-record.ts";

const rowsOf = (record: StoredRecord): [inList: Item, inDomain: Item] => [
  { ...recordKey(record.account_id, record.id), ...record },
  { ...recordPlaceKey(record), ...record },
];

/** The members of a record for storage; a member that the record's type does not have is null. */
const membersOf = ({ name, type, value, ttl, priority, weight, port, flags, tag }: ParsedRecord) => ({
  name,
  type,
  value,
  ttl,
  priority: priority ?? null,
  weight: weight ?? null,
  port: port ?? null,
  flags: flags ?? null,
  tag: tag ?? null,
});

/** The parsed form of a stored record. */
export const parsedOf = (record: StoredRecord): ParsedRecord & { id: number } => {
  const { id, name, type, value, ttl, priority, weight, port, flags, tag } = record;
  return {
    id,
    name,
    type,
    value,
    ttl,
    ...(priority === null ? {} : { priority }),
    ...(weight === null ? {} : { weight }),
    ...(port === null ? {} : { port }),
    ...(flags === null ? {} : { flags }),
    ...(tag === null ? {} : { tag }),
  };
};

/** The changes to the records of one domain. They make the next revision of `zone`. */
export type RecordEdit = {
  zone: StoredZone;
  added?: readonly ParsedRecord[];
  updated?: readonly { before: StoredRecord; after: ParsedRecord }[];
  removed?: readonly StoredRecord[];
  /** Whether the added records are managed by the product. */
  isSystem?: boolean;
  /** Whether the nameservers should have the zone after these changes. The default is the present state of the zone. */
  wanted?: boolean;
};

/**
 * All changes that one transaction makes to DNS records. The caller passes `sole`, which has all writes, as the `sole`
 * of its `ChangePlan`. A plan has only one `sole`, so a transaction cannot have two plans for records.
 */
export type RecordsPlan = {
  /** The added and updated records, in their new state. */
  records: StoredRecord[];
  sole: SoleWrites;
  changes: Change[];
};

/**
 * Plans all changes of one transaction to the DNS records of an account, with one edit per domain. The caller updates
 * the record counts on the domains' rows.
 */
export async function planRecords(
  table: Reader,
  accountId: string,
  edits: readonly RecordEdit[],
  now: Date,
): Promise<RecordsPlan> {
  const removed = edits.flatMap((edit) => edit.removed ?? []);
  const ordinals = removed.map(({ id }) => id - 1);
  const changesList = ordinals.length > 0 || edits.some(({ added = [] }) => added.length > 0);
  const state = changesList ? (await readList(table, recordsOf(accountId), ordinals)).state : undefined;
  // The id of a record is its ordinal plus 1. So the next ordinal of the list is the last id that it gave out.
  const added = newRecords(edits, state?.next ?? 0, now);
  const updated = edits.flatMap((edit) => (edit.updated ?? []).map((one) => updatedRecord(edit.zone, one, now)));
  return {
    records: [...added, ...updated.map(({ after }) => after)],
    sole: new SoleWrites([
      ...(state ? changeRows(state, { added, removed: ordinals }) : []),
      ...added.map((record): Write => ({ put: { ...recordPlaceKey(record), ...record }, if: "absent" })),
      ...updated.flatMap(updateWrites),
      ...removed.map((record): Write => ({ delete: recordPlaceKey(record), if: { version: record.version } })),
      ...edits.flatMap((edit) => noteChanges(edit.zone, touchedBy(edit), now, edit.wanted)),
    ]),
    changes: [
      ...added.map((record) => change(recordKind, "created", String(record.id), { after: record })),
      ...updated.map(({ before, after }) => change(recordKind, "updated", String(before.id), { before, after })),
      ...removed.map((record) => change(recordKind, "deleted", String(record.id), { before: record })),
    ],
  };
}

const touchedBy = ({ added = [], updated = [], removed = [] }: RecordEdit) => [
  ...added,
  ...updated.flatMap(({ before, after }) => [before, after]),
  ...removed,
];

/** The records that the edits add. Their ids follow the last id that the account's list gave out. */
function newRecords(edits: readonly RecordEdit[], lastId: number, now: Date): StoredRecord[] {
  const at = now.toISOString();
  const pairs = edits.flatMap(({ added = [], ...edit }) => added.map((record) => ({ record, edit })));
  return pairs.map(({ record, edit: { zone, isSystem = false } }, index) => ({
    ...membersOf(record),
    id: lastId + index + 1,
    account_id: zone.account_id,
    domain_id: zone.domain_id,
    domain: zone.name,
    is_system_managed: isSystem,
    zone_revision: zone.revision + 1,
    created_at: at,
    updated_at: at,
    version: 1,
  }));
}

type Update = { before: StoredRecord; after: StoredRecord };

const updatedRecord = (
  { revision }: StoredZone,
  { before, after }: { before: StoredRecord; after: ParsedRecord },
  now: Date,
): Update => ({
  before,
  after: {
    ...before,
    ...membersOf(after),
    zone_revision: revision + 1,
    updated_at: now.toISOString(),
    version: before.version + 1,
  },
});

function updateWrites({ before, after }: Update): Write[] {
  const [inList, inDomain] = rowsOf(after);
  const isMoved = recordPlaceKey(before).SK !== recordPlaceKey(after).SK;
  return [
    { put: inList, if: { id: before.id, version: before.version } },
    isMoved ? { put: inDomain, if: "absent" } : { put: inDomain, if: { version: before.version } },
    ...(isMoved ? [{ delete: recordPlaceKey(before), if: "present" as const }] : []),
  ];
}
