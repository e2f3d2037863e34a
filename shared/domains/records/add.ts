import { InvalidInput, notFound, Problem } from "../../core/errors.ts";
import type { Context, Expected } from "../../http/route.ts";
import { aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { type StoredDomain, domainKey, notReady } from "../domain.ts";
import { domainById, aheadOfDomain, expectedDomainId } from "../find.ts";
import { getZone, type StoredZone, zoneKey } from "../zone.ts";
import { conflictOf } from "./conflicts.ts";
import { obstacleOf, recordsAround } from "./delegations.ts";
import { parseRecord } from "./input.ts";
import { parsedOf, planRecords } from "./plan.ts";
import { type ParsedRecord, type RecordInput, sizeFault } from "./record.ts";
import { recordLimit, type StoredRecord, recordsOf } from "./stored-record.ts";
import { reservedFor } from "./system-records.ts";

/** Parses the input for a record; 422 with each fault at its place in the body. */
export function readRecord(input: RecordInput, zone: string): ParsedRecord {
  const read = parseRecord(input, zone);
  if ("record" in read) return read.record;
  throw new InvalidInput(
    read.faults.map(({ member, message }) => ({ loc: ["body", member], msg: message, type: "value_error" })),
  );
}

/**
 * Refuses a record that the domain cannot have together with its present records. `but` is the id of a record to leave
 * out of the comparison.
 * - 409 `system_managed`: the place is reserved for a system record.
 * - 409 `record_exists`: the same record is there.
 * - 409 `record_conflict`: another record excludes it.
 * - 409 `limit_reached`: its name has too many records of the type, or too long ones.
 * - 409 `below_delegation`: a delegation excludes it.
 */
export async function requireRoom(
  table: Reader,
  home: StoredDomain,
  record: ParsedRecord,
  but?: number,
): Promise<void> {
  const reason = reservedFor(record);
  const around = await recordsAround(table, home, [record]);
  if (reason !== undefined) {
    const isInTheWay = ({ is_system_managed, name, type }: StoredRecord): boolean =>
      is_system_managed && name === record.name && (name !== "@" || type === record.type);
    const inTheWay = around.find(isInTheWay);
    const extras = inTheWay ? { conflicts_with: inTheWay.id } : {};
    throw new Problem("system_managed", `${reason}. Such records change only with the domain's settings.`, extras);
  }
  const others = around.filter((one) => one.id !== but).map(parsedOf);
  const conflict = conflictOf(record, others);
  if (conflict) {
    const code = conflict.kind === "duplicate" ? "record_exists" : "record_conflict";
    throw new Problem(code, conflict.message, { conflicts_with: conflict.id });
  }
  const fault = sizeFault(record, others);
  if (fault !== undefined) throw new Problem("limit_reached", `${fault}.`);
  // A record that keeps its name is no more below a delegation than before.
  if (around.some(({ id, name }) => id === but && name === record.name)) return;
  const obstacle = obstacleOf(record, others, home.name);
  if (!obstacle) return;
  const { delegation, ids, message } = obstacle;
  throw new Problem("below_delegation", message, { delegation, conflicts_with: ids.slice(0, namedAtMost) });
}

/** The most records that a `below_delegation` names. */
const namedAtMost = 20;

/** A committed record, and whether the nameservers should have its zone at the time of the commit. */
export type Changed = { record: StoredRecord; isServed: boolean };

/**
 * Reads a domain and its zone for one transaction. Throws 404, and 409 `domain_not_ready` if the domain takes no
 * records.
 */
export async function openHome(
  table: Reader,
  accountId: string,
  domainId: string,
): Promise<{ home: StoredDomain; zone: StoredZone }> {
  const [home, zone] = await Promise.all([domainById(table, accountId, domainId), getZone(table, accountId, domainId)]);
  if (!home || !zone) throw notFound();
  if (!home.is_open) throw closing(home);
  return { home, zone };
}

const closing = ({ name, status }: Pick<StoredDomain, "name" | "status">): Problem =>
  notReady(status, `${name} is ${status}. Its records cannot be changed.`);

/**
 * The write that adds `by` to a domain's count of records. It fails the transaction when the domain changed since it
 * was read.
 */
export const recordCountWrite = (home: StoredDomain, by: number): Write => ({
  update: domainKey(home.account_id, home.id),
  add: { record_count: by, version: 1 },
  if: { id: home.id, version: home.version },
});

/** 409 `limit_reached` when a domain has no space for `more` further records. */
export function requireSpace({ record_count }: StoredDomain, more: number): void {
  if (record_count + more <= recordLimit) return;
  throw new Problem("limit_reached", `A domain can have ${recordLimit} records at most.`);
}

/** The items that `domainInBody` and `addRecord` read, except the records of the same name. */
export function aheadOfNewRecord(accountId: string, ref: string, expected: Expected): Ahead {
  const { keys, again } = aheadOfDomain(expected, accountId, ref);
  const id = expectedDomainId(expected.seen, accountId, ref);
  const others = [...keys, ...(id === undefined ? [] : [zoneKey(accountId, id)])];
  return { ...aheadOfList(recordsOf(accountId), [], others), ...(again ? { again } : {}) };
}

/**
 * Adds a record to a domain. Throws 404, 422, 409 `domain_not_ready` or `limit_reached`, and the errors of
 * `requireRoom`.
 */
export async function addRecord(
  found: StoredDomain,
  input: RecordInput,
  { table, commit, now }: Context,
): Promise<Changed> {
  const record = readRecord(input, found.name);
  let isServed = false;
  const value = await commit(async () => {
    const { home, zone } = await openHome(table, found.account_id, found.id);
    isServed = zone.wanted;
    await requireRoom(table, home, record);
    requireSpace(home, 1);
    const { records, ...planned } = await planRecords(table, home.account_id, [{ zone, added: [record] }], now());
    const [added] = records;
    if (!added) throw new Error("nothing was added");
    // The nameservers do not have the record yet.
    return {
      value: { ...added, zone_status: "pending" as const },
      writes: [recordCountWrite(home, 1)],
      ...planned,
    };
  });
  return { record: value, isServed };
}
