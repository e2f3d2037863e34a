import { type ParsedRecord, dataOf } from "./record.ts";
import { isSpf } from "./spf.ts";

/** A record that excludes the new record, with the reason as a text for people. */
type Conflict = {
  kind: "duplicate" | "cname" | "ns" | "spf" | "dmarc" | "null_mx";
  /** The id of the record in the way. */
  id: number;
  message: string;
};

/**
 * A record beside the new one. If both records are of one import, `id` is the line of the other record's entry, as a
 * negative number.
 */
type Existing = ParsedRecord & { id: number };
type Rule = (candidate: ParsedRecord, other: Existing) => string | undefined;

const isNullMx = ({ type, value }: ParsedRecord): boolean => type === "MX" && value === ".";
const isDmarc = ({ type, name }: ParsedRecord): boolean => type === "TXT" && name.split(".")[0] === "_dmarc";
const isSpfRecord = ({ type, value }: ParsedRecord): boolean => type === "TXT" && isSpf(value);

/** The rules by which one record excludes another of the same name. The first rule that gives a reason counts. */
const rules: Record<Conflict["kind"], Rule> = {
  // The data of one type always have the same members in the same order, so equal data give equal JSON.
  duplicate: (candidate, other) =>
    JSON.stringify(dataOf(candidate)) === JSON.stringify(dataOf(other))
      ? "The domain has this record already"
      : undefined,
  cname: (candidate, other) => {
    if (candidate.type !== "CNAME" && other.type !== "CNAME") return undefined;
    if (candidate.type === other.type) return "A name can have only one CNAME record. Change the existing one";
    const held =
      candidate.type === "CNAME" ? `The name has a record of type ${other.type}` : "The name has a CNAME record";
    return `A CNAME record cannot share its name with another record. ${held}`;
  },
  ns: (candidate, other) => {
    if ((candidate.type === "NS") === (other.type === "NS")) return undefined;
    const held =
      candidate.type === "NS" ? `The name has a record of type ${other.type}` : "The name is delegated by NS records";
    return `A delegated name can have NS records only (DS is not offered). ${held}`;
  },
  spf: (candidate, other) =>
    isSpfRecord(candidate) && isSpfRecord(other)
      ? "A name can have only one SPF record, or receivers accept none. Add the terms to the existing one"
      : undefined,
  dmarc: (candidate, other) =>
    isDmarc(candidate) && isDmarc(other)
      ? "A name can have only one DMARC record, or receivers ignore all of them. Change the existing one"
      : undefined,
  null_mx: (candidate, other) =>
    candidate.type === "MX" && other.type === "MX" && isNullMx(candidate) !== isNullMx(other)
      ? 'An MX record with the value "." refuses all mail, and must be the only MX record (RFC 7505)'
      : undefined,
};

const kinds = Object.keys(rules) as Conflict["kind"][];

/**
 * The first conflict of a record with other records of the same name; records of other names are ignored.
 * - The kinds are tried in this order: `duplicate`, `cname`, `ns`, `spf`, `dmarc`, `null_mx`.
 * - Two records with the same data are duplicates, even if their TTLs differ.
 * - Records with different data may have different TTLs.
 * - `others` must not include the record itself.
 */
export function conflictOf(candidate: ParsedRecord, others: readonly Existing[]): Conflict | undefined {
  const beside = others.filter(({ name }) => name === candidate.name);
  for (const kind of kinds) {
    for (const other of beside) {
      const reason = rules[kind](candidate, other);
      const place = other.id < 0 ? `entry ${-other.id}` : `record ${other.id}`;
      if (reason !== undefined) return { kind, id: other.id, message: `${reason} (${place}).` };
    }
  }
  return undefined;
}
