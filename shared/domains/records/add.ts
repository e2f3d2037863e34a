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

/** Parses the input for a record. Throws 422 with each fault at its place in the body. */
export function readRecord(input: RecordInput, zone: string): ParsedRecord {
  const read = parseRecord(input, zone);
  if ("record" in read) return read.record;
  throw new InvalidInput(
    read.faults.map(({ member, message }) => ({ loc: ["body", member], msg: message, type: "value_error" })),
  );
}

/**
 * Refuses a record that the domain cannot have together with its present records. If the new record replaces another
 * record, `except` is the id of the replaced record. The replaced record is not compared. Throws:
 * - 409 `system_managed` if the name, or the type at this name, is reserved for a system record;
 * - 409 `record_exists` if the domain has the same record already;
 * - 409 `record_conflict` if another record excludes the new record;
 * - 409 `limit_reached` if the name has too many records of the type, or their values are too long together;
 * - 409 `below_delegation` if a delegation excludes the new record.
 */
export async function requireNoConflict(
  table: Reader,
  domain: StoredDomain,
  record: ParsedRecord,
  except?: number,
): Promise<void> {
  const reason = reservedFor(record, domain);
  const around = await recordsAround(table, domain, [record]);
  if (reason !== undefined) {
    const isInTheWay = ({ is_system_managed, name, type }: StoredRecord): boolean =>
      is_system_managed && name === record.name && (name !== "@" || type === record.type);
    const inTheWay = around.find(isInTheWay);
    const extras = inTheWay ? { conflicts_with: inTheWay.id } : {};
    throw new Problem("system_managed", `${reason}. System records change only with the domain's settings.`, extras);
  }
  const others = around.filter((one) => one.id !== except).map(parsedOf);
  const conflict = conflictOf(record, others);
  if (conflict) {
    const code = conflict.kind === "duplicate" ? "record_exists" : "record_conflict";
    throw new Problem(code, conflict.message, { conflicts_with: conflict.id });
  }
  const fault = sizeFault(record, others);
  if (fault !== undefined) throw new Problem("limit_reached", `${fault}.`);
  // A record that keeps its name is not checked against delegations, because its name was checked before. So an NS
  // record can get another nameserver while the address of the former nameserver (its glue) is still below the name. If
  // the customer had to delete this address before the change, the delegation would break.
  if (around.some(({ id, name }) => id === except && name === record.name)) return;
  const obstacle = obstacleOf(record, others, domain.name);
  if (!obstacle) return;
  const { delegation, ids, message } = obstacle;
  throw new Problem("below_delegation", message, { delegation, conflicts_with: ids.slice(0, namedAtMost) });
}

/** How many records a problem names at most. */
export const namedAtMost = 20;

/** A record after a commit. `isServed` says whether the nameservers should have the record's zone. */
export type ChangedRecord = { record: StoredRecord; isServed: boolean };

type OpenDomain = { domain: StoredDomain; zone: StoredZone };

/**
 * Reads a domain and its zone for a transaction that removes records. Throws:
 * - 404 if there is no such domain;
 * - 409 `domain_not_ready` if the records of the domain cannot be changed.
 */
export async function openForRemoval(table: Reader, accountId: string, domainId: string): Promise<OpenDomain> {
  const [domain, zone] = await Promise.all([
    domainById(table, accountId, domainId),
    getZone(table, accountId, domainId),
  ]);
  if (!domain || !zone) throw notFound();
  if (!domain.is_open) throw notOpen(domain);
  return { domain, zone };
}

/**
 * Reads a domain and its zone for a transaction that adds or changes records. Throws the errors of `openForRemoval`,
 * and 409 `dns_external` if our nameservers do not serve the records.
 */
export async function openDomain(table: Reader, accountId: string, domainId: string): Promise<OpenDomain> {
  const { domain, zone } = await openForRemoval(table, accountId, domainId);
  if (domain.dns_mode === "external" && !zone.wanted) throw dnsExternal(domain);
  return { domain, zone };
}

const notOpen = ({ name, status }: Pick<StoredDomain, "name" | "status">): Problem =>
  notReady(status, `${name} is ${status}. Its records cannot be changed.`);

const dnsExternal = ({ name }: Pick<StoredDomain, "name">): Problem =>
  new Problem(
    "dns_external",
    `Our nameservers do not serve the DNS of ${name}. Change the record at the domain's DNS host, or set \`dns_mode\` to \`hosted\` first.`,
  );

/**
 * The write that adds `by` to a domain's count of records. The transaction fails if the domain has changed since it was
 * read.
 */
export const recordCountWrite = (domain: StoredDomain, by: number): Write => ({
  update: domainKey(domain.account_id, domain.id),
  add: { record_count: by, version: 1 },
  if: { id: domain.id, version: domain.version },
});

/** Throws 409 `limit_reached` if a domain has no space for `more` further records. */
export function requireBelowRecordLimit({ record_count }: StoredDomain, more: number): void {
  if (record_count + more <= recordLimit) return;
  throw new Problem("limit_reached", `A domain can have ${recordLimit} records at most.`);
}

/** The items that `domainInBody` and `addRecord` read, except the domain's other records of the same name. */
export function aheadOfNewRecord(accountId: string, ref: string, expected: Expected): Ahead {
  const { keys, again } = aheadOfDomain(expected, accountId, ref);
  const id = expectedDomainId(expected.seen, accountId, ref);
  const others = [...keys, ...(id === undefined ? [] : [zoneKey(accountId, id)])];
  return { ...aheadOfList(recordsOf(accountId), [], others), ...(again ? { again } : {}) };
}

/**
 * Adds a record to a domain. Throws the errors of `readRecord`, `openDomain`, `requireNoConflict` and
 * `requireBelowRecordLimit`.
 */
export async function addRecord(
  found: StoredDomain,
  input: RecordInput,
  { table, commit, now }: Context,
): Promise<ChangedRecord> {
  const record = readRecord(input, found.name);
  let isServed = false;
  const value = await commit(async () => {
    const { domain, zone } = await openDomain(table, found.account_id, found.id);
    isServed = zone.wanted;
    await requireNoConflict(table, domain, record);
    requireBelowRecordLimit(domain, 1);
    const { records, ...planned } = await planRecords(table, domain.account_id, [{ zone, added: [record] }], now());
    const [added] = records;
    if (!added) throw new Error("nothing was added");
    // The nameservers do not have the record yet.
    return {
      value: { ...added, zone_status: "pending" as const },
      writes: [recordCountWrite(domain, 1)],
      ...planned,
    };
  });
  return { record: value, isServed };
}
