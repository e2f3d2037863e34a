import * as z from "zod";

import { covers, scopesHeld } from "../../auth/permissions.ts";
import { InvalidInput } from "../../core/errors.ts";
import { spanOf, type PageQuery } from "../../core/page.ts";
import { line, type Reading } from "../../core/text.ts";
import { splitName } from "../../dns/labels.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readRows, aheadOfRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { type StoredDomain, domainKey } from "../domain.ts";
import { domainByRef, scopesOfDomain, aheadOfDomain, expectedDomainId } from "../find.ts";
import { visibleDomains } from "../list.ts";
import { DomainRef, unicodeOf } from "../name.ts";
import { zoneKey } from "../zone.ts";
import { absoluteName, readRecordName } from "./names.ts";
import { type DnsRecord, StoredRecord, recordViews, recordsIn, recordsOf, recordsRange } from "./stored-record.ts";

/** Reads the name of a record, relative or full, into its canonical form. A final dot makes no difference here. */
const readName = (given: string): Reading => readRecordName(splitName(given.trim()).labels.join("."), "the domain");

const RecordName = z
  .string()
  .trim()
  .min(1)
  .max(300)
  .superRefine((given, context) => {
    const read = readName(given);
    if (given !== "" && "fault" in read) context.addIssue({ code: "custom", message: read.fault });
  })
  .overwrite((given) => {
    const read = readName(given);
    return "value" in read ? read.value : given;
  });

/** The filters of a list of records; a record must match all given filters. */
export const recordQuery = {
  domain: DomainRef.optional().meta({ description: "Only records of this domain, given by its name or id." }),
  type: RecordType.optional().meta({ description: "Only records of this type." }),
  name: RecordName.optional().meta({
    description:
      "Only records with this name: `@` is the domain itself, `www` is `www` in its domain. A full name is accepted too, in any spelling.",
  }),
  value: z
    .string()
    .min(1)
    .max(2_048)
    .optional()
    .meta({ description: "Only records with exactly this value, in the normal form of the answers." }),
  search: line({
    most: 253,
    description:
      "Only records with this text in their name or value, in any case. A name is searched in both its forms.",
  })
    .toLowerCase()
    .optional(),
};
type RecordQuery = PageQuery & z.output<z.ZodObject<typeof recordQuery>>;
type RecordFilter = Omit<RecordQuery, "domain" | keyof PageQuery>;
type RecordPage = { items: DnsRecord[]; total: number };

const filterLimit = 20_000;
const domainLimit = 200;

const isFiltered = ({ type, name, value, search }: RecordFilter): boolean =>
  [type, name, value, search].some((given) => given !== undefined);

const isFound = ({ name, value }: StoredRecord, search: string): boolean =>
  [name, unicodeOf(name), value].some((text) => text.toLowerCase().includes(search));

/** Whether a record matches all given filters. */
const isKept = (record: StoredRecord, { type, name, value, search }: RecordFilter): boolean =>
  (type === undefined || record.type === type) &&
  (name === undefined || record.name === name || absoluteName(record.name, record.domain) === name) &&
  (value === undefined || record.value === value) &&
  (search === undefined || isFound(record, search));

/**
 * A page of the DNS records the principal sees, oldest first. A principal that does not see the whole account gets them
 * grouped by domain. 422 when too many records or domains would have to be read; the filter `domain` avoids this.
 */
export async function listRecords(accountId: string, query: RecordQuery, context: Context): Promise<RecordPage> {
  const { table, permissions } = context;
  const { domain: ref, page, page_size, ...filter } = query;
  const { name } = filter;
  const slice = async (records: readonly StoredRecord[]): Promise<RecordPage> => {
    const { skip, take } = spanOf({ page, page_size });
    const kept = records.filter((record) => isKept(record, filter));
    return { items: await recordViews(table, accountId, kept.slice(skip, skip + take)), total: kept.length };
  };
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    const isSeen = domain && covers(permissions, "dns.view", scopesOfDomain(domain));
    return slice(isSeen ? await ofDomain(domain, name, context) : []);
  }
  if (scopesHeld(permissions, "dns.view", "workspace") === "all") {
    return isFiltered(filter)
      ? slice(await ofAccount(accountId, context))
      : pageOf(accountId, { page, page_size }, context);
  }
  const domains = await visibleDomains(accountId, { capability: "dns.view", limit: domainLimit }, context);
  if (!domains) throw tooBroad();
  const records = await Promise.all(domains.map((domain) => ofDomain(domain, name, context)));
  return slice(records.flat());
}

/** The items that `listRecords` reads first, if the principal sees the whole account or names a domain. */
export function aheadOfRecords(accountId: string, query: RecordQuery, expected: Expected): Ahead {
  const { domain: ref, page, page_size, ...filter } = query;
  const id = ref === undefined ? undefined : expectedDomainId(expected.seen, accountId, ref);
  if (ref !== undefined && (id === undefined || filter.name !== undefined))
    return aheadOfDomain(expected, accountId, ref);
  if (id !== undefined) {
    return { keys: [domainKey(accountId, id), zoneKey(accountId, id)], ranges: [recordsRange(accountId, id)] };
  }
  if (scopesHeld(expected.permissions, "dns.view", "workspace") !== "all") return {};
  const span = isFiltered(filter) ? { skip: 0, take: filterLimit } : spanOf({ page, page_size });
  return aheadOfRows(recordsOf(accountId), span);
}

const oldestFirst = (records: readonly StoredRecord[]): StoredRecord[] => records.toSorted((a, b) => a.id - b.id);

async function ofDomain(
  { account_id, id, name: zone }: StoredDomain,
  name: string | undefined,
  { table }: Context,
): Promise<StoredRecord[]> {
  if (name === undefined) return oldestFirst(await recordsIn(table, account_id, id));
  const isWhole = name === zone || name.endsWith(`.${zone}`);
  const relative = name === zone ? "@" : isWhole ? name.slice(0, -zone.length - 1) : name;
  return oldestFirst(await recordsIn(table, account_id, id, relative));
}

async function ofAccount(accountId: string, { table }: Context): Promise<StoredRecord[]> {
  const { rows, total } = await readRows(table, recordsOf(accountId), { skip: 0, take: filterLimit });
  if (total > filterLimit) throw tooBroad();
  return rows.map((row) => StoredRecord.parse(row));
}

async function pageOf(accountId: string, page: PageQuery, { table }: Context): Promise<RecordPage> {
  const { rows, total } = await readRows(table, recordsOf(accountId), spanOf(page));
  const records = rows.map((row) => StoredRecord.parse(row));
  return { items: await recordViews(table, accountId, records), total };
}

const tooBroad = (): InvalidInput =>
  new InvalidInput([
    { loc: ["query", "domain"], msg: "There are too many records for this filter. Give a domain", type: "too_broad" },
  ]);
