import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { absoluteName } from "./names.ts";
import type { ParsedRecord } from "./record.ts";
import { recordsIn, type StoredRecord } from "./stored-record.ts";

type Existing = ParsedRecord & { id: number };

/** A delegation that excludes a record, with the reason as a text for people. */
type Obstacle = {
  /** The full name that is delegated, or that the new record would delegate. */
  delegation: string;
  /** The ids of the records in the way. */
  ids: number[];
  message: string;
};

const isBelow = (name: string, cut: string): boolean => name.endsWith(`.${cut}`);

/** The names between a record's name and the zone's own name, highest first: for `a.b.sub`, `sub` and `b.sub`. */
function ancestorsOf(name: string): string[] {
  const labels = name.split(".");
  return labels
    .map((_, index) => labels.slice(index).join("."))
    .slice(1)
    .toReversed();
}

/** Whether a record is the address of one of the nameservers (RFC 1034 §4.2.1). */
const isGlue = ({ name, type }: ParsedRecord, nameservers: readonly ParsedRecord[], zone: string): boolean =>
  (type === "A" || type === "AAAA") && nameservers.some(({ value }) => value === absoluteName(name, zone));

const shownAtMost = 3;

/** The obstacle for an NS record that would delegate a name: the records `found` below the name. */
function obstacleBelow(name: string, found: readonly Existing[], zone: string): Obstacle {
  const delegation = absoluteName(name, zone);
  const shown = found.slice(0, shownAtMost).map((one) => `${one.type} ${absoluteName(one.name, zone)}`);
  const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : "";
  return {
    delegation,
    ids: found.map(({ id }) => id).toSorted((a, b) => a - b),
    message: `If ${delegation} were delegated, the records below it would be lost: ${shown.join(", ")}${more}. Delete them before the delegation.`,
  };
}

/**
 * The delegation that excludes a record from a zone (RFC 1034 §4.2.1); undefined if there is none.
 * - A record below a delegated name is excluded, unless the record is the address of a nameserver of the delegated
 *   name.
 * - An NS record that delegates a name is excluded while other records are below the name. An address of the record's
 *   own nameserver may be there.
 * - A further NS record of a delegated name is never excluded.
 * - `others` must include the records that `recordsAround` reads, and not the record itself.
 */
export function obstacleOf(record: ParsedRecord, others: readonly Existing[], zone: string): Obstacle | undefined {
  const nameservers = others.filter(({ type }) => type === "NS");
  const cut = ancestorsOf(record.name).find((name) => nameservers.some((one) => one.name === name));
  if (cut !== undefined) {
    const own = nameservers.filter(({ name }) => name === cut);
    if (isGlue(record, own, zone)) return undefined;
    const delegation = absoluteName(cut, zone);
    const message = `${absoluteName(record.name, zone)} is below ${delegation}, which is delegated. Only the nameservers of ${delegation} answer for this name.`;
    return { delegation, ids: own.map(({ id }) => id), message };
  }
  if (record.type !== "NS" || nameservers.some(({ name }) => name === record.name)) return undefined;
  const found = others.filter((other) => isBelow(other.name, record.name) && !isGlue(other, [record], zone));
  return found.length > 0 ? obstacleBelow(record.name, found, zone) : undefined;
}

/**
 * Reads the records that decide whether a domain can have `records`: all records of the same names, and the NS records
 * of the names above these names. If an NS record is among `records`, reads all records of the domain.
 */
export async function recordsAround(
  table: Reader,
  { account_id, id }: StoredDomain,
  records: readonly ParsedRecord[],
): Promise<StoredRecord[]> {
  if (records.some(({ type }) => type === "NS")) return recordsIn(table, account_id, id);
  const names = new Set(records.map(({ name }) => name));
  const above = new Set([...names].flatMap(ancestorsOf));
  const found = await Promise.all([
    ...[...names].map((name) => recordsIn(table, account_id, id, name)),
    ...[...above].filter((name) => !names.has(name)).map((name) => recordsIn(table, account_id, id, name, "NS")),
  ]);
  return found.flat();
}
