import { change, type Change } from "../changes/kind.ts";
import { Problem } from "../errors.ts";
import { appendRows, readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Write } from "../table/writes.ts";
import { noteChanges, type StoredZone } from "../zones/zone.ts";
import type { ParsedRecord } from "./record.ts";
import { placeOf, recordKey, recordKind, recordLimit, recordsOf, type StoredRecord } from "./stored-record.ts";

type Home = { account_id: string; id: string; name: string; record_count: number };
type Planned = { records: StoredRecord[]; writes: Write[]; changes: Change[] };

const rowsOf = (record: StoredRecord): [inList: Item, inDomain: Item] => [
  { ...recordKey(record.account_id, record.id), ...record },
  { ...placeOf(record), ...record },
];

/** Everything of a record that its type has, and null for the rest. */
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

/** A record as it was parsed, of one that is stored. */
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

/** New records of a domain, in its zone's next revision. The count on the domain's own row is left to the caller. */
export async function planAdded(
  table: Reader,
  home: Home,
  zone: StoredZone,
  added: readonly ParsedRecord[],
  { now, isSystem = false, wanted = zone.wanted }: { now: Date; isSystem?: boolean; wanted?: boolean },
): Promise<Planned> {
  if (home.record_count + added.length > recordLimit) {
    throw new Problem("limit_reached", `A domain has ${recordLimit} records at most.`);
  }
  const { state } = await readList(table, recordsOf(home.account_id));
  const at = now.toISOString();
  const records = added.map((record, index): StoredRecord => ({
    ...membersOf(record),
    id: state.next + index + 1,
    account_id: home.account_id,
    domain_id: home.id,
    domain: home.name,
    is_system_managed: isSystem,
    zone_revision: zone.revision + 1,
    created_at: at,
    updated_at: at,
    version: 1,
  }));
  return {
    records,
    writes: [
      ...appendRows(state, records),
      ...records.map((record): Write => ({ put: { ...placeOf(record), ...record }, if: "absent" })),
      ...noteChanges(zone, records, now, wanted),
    ],
    changes: records.map((record) => change(recordKind, "created", String(record.id), { after: record })),
  };
}

/** Records of one domain that become others, in its zone's next revision. */
export function planUpdated(
  zone: StoredZone,
  updated: readonly { before: StoredRecord; after: ParsedRecord }[],
  now: Date,
): Planned {
  const pairs = updated.map(({ before, after }) => ({
    before,
    after: {
      ...before,
      ...membersOf(after),
      zone_revision: zone.revision + 1,
      updated_at: now.toISOString(),
      version: before.version + 1,
    } satisfies StoredRecord,
  }));
  const writes = pairs.flatMap(({ before, after }): Write[] => {
    const [inList, inDomain] = rowsOf(after);
    const moved = placeOf(before).SK !== placeOf(after).SK;
    return [
      { put: inList, if: { id: before.id, version: before.version } },
      moved ? { put: inDomain, if: "absent" } : { put: inDomain, if: { version: before.version } },
      ...(moved ? [{ delete: placeOf(before), if: "present" as const }] : []),
    ];
  });
  return {
    records: pairs.map(({ after }) => after),
    writes: [
      ...writes,
      ...noteChanges(
        zone,
        pairs.flatMap(({ before, after }) => [before, after]),
        now,
      ),
    ],
    changes: pairs.map(({ before, after }) => change(recordKind, "updated", String(before.id), { before, after })),
  };
}

/** Records of one domain that go, in its zone's next revision. The count on the domain's own row is left to the caller. */
export async function planRemoved(
  table: Reader,
  accountId: string,
  zone: StoredZone,
  removed: readonly StoredRecord[],
  now: Date,
): Promise<Planned> {
  const ordinals = removed.map(({ id }) => id - 1);
  const { state } = await readList(table, recordsOf(accountId), ordinals);
  return {
    records: [...removed],
    writes: [
      ...removeRows(state, ordinals),
      ...removed.map((record): Write => ({ delete: placeOf(record), if: { version: record.version } })),
      ...noteChanges(zone, removed, now),
    ],
    changes: removed.map((record) => change(recordKind, "deleted", String(record.id), { before: record })),
  };
}
