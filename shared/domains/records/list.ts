import * as z from "zod";

import { covers, idsHeld } from "../../auth/permissions.ts";
import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import { spanOf, type PageQuery } from "../../core/page.ts";
import { line, readable } from "../../core/text.ts";
import { splitName } from "../../dns/labels.ts";
import { RecordType } from "../../dns/rrset.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readRows, aheadOfRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { type StoredDomain, domainKey } from "../domain.ts";
import { domainByRef, scopesOfDomain, aheadOfDomain, aheadOfName, expectedDomainId } from "../find.ts";
import { visibleDomains } from "../list.ts";
import { DomainRef, unicodeOf } from "../name.ts";
import { zoneKey } from "../zone.ts";
import { absoluteName, readOwnerName, relativeTo } from "./names.ts";
import { type DnsRecord, StoredRecord, recordViews, recordsIn, recordsOf, recordsRange } from "./stored-record.ts";

/** The name of a record, relative or full. A final dot makes no difference here. */
const RecordName = readable(z.string().trim().min(1, { abort: true }).max(300), (given) =>
  readOwnerName(splitName(given).labels.join("."), "the domain"),
);

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
    .meta({ description: "Only records with exactly this value, in the normal form that answers have." }),
  search: line({
    most: 253,
    description:
      "Only records with this text in their name or value, in any case. A name is searched in A-labels and in Unicode.",
  })
    .toLowerCase()
    .optional(),
};
type RecordQuery = PageQuery & z.output<z.ZodObject<typeof recordQuery>>;
type RecordFilter = Omit<RecordQuery, "domain" | keyof PageQuery>;
type RecordPage = { items: DnsRecord[]; total: number };

/** How many records of an account a filtered list reads at most. */
const filterLimit = 20_000;
/** The largest number of domains whose records a list reads, for a principal who does not see the whole account. */
const domainLimit = 200;

const isFiltered = ({ type, name, value, search }: RecordFilter): boolean =>
  [type, name, value, search].some((given) => given !== undefined);

const containsText = ({ name, value }: StoredRecord, search: string): boolean =>
  [name, unicodeOf(name), value].some((text) => text.toLowerCase().includes(search));

/** Whether a record matches all given filters. */
const matches = (record: StoredRecord, { type, name, value, search }: RecordFilter): boolean =>
  (type === undefined || record.type === type) &&
  (name === undefined || record.name === name || absoluteName(record.name, record.domain) === name) &&
  (value === undefined || record.value === value) &&
  (search === undefined || containsText(record, search));

/**
 * A page of the DNS records that the principal sees, oldest first. A principal who does not see the whole account gets
 * the records grouped by domain. Throws 422 if more than 20,000 records or 200 domains would have to be read; the
 * filter `domain` avoids this.
 */
export async function listRecords(accountId: string, query: RecordQuery, context: Context): Promise<RecordPage> {
  const { table, permissions } = context;
  const { domain: ref, page, page_size, ...filter } = query;
  const { name } = filter;
  const matchingPage = async (records: readonly StoredRecord[]): Promise<RecordPage> => {
    const { skip, take } = spanOf({ page, page_size });
    const kept = records.filter((record) => matches(record, filter));
    return { items: await recordViews(table, accountId, kept.slice(skip, skip + take)), total: kept.length };
  };
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    const mayView = domain && covers(permissions, "dns.view", scopesOfDomain(domain));
    return matchingPage(mayView ? await recordsOfDomain(domain, name, context) : []);
  }
  if (idsHeld(permissions, "dns.view", "workspace") === "all") {
    return isFiltered(filter)
      ? matchingPage(await recordsOfAccount(accountId, context))
      : pageOfAccount(accountId, { page, page_size }, context);
  }
  const domains = await visibleDomains(accountId, { capability: "dns.view", limit: domainLimit }, context);
  if (!domains) throw tooBroad();
  const records = await Promise.all(domains.map((domain) => recordsOfDomain(domain, name, context)));
  return matchingPage(records.flat());
}

/** The items that `listRecords` reads first, if the principal sees the whole account or names a domain. */
export function aheadOfRecords(accountId: string, query: RecordQuery, expected: Expected): Ahead {
  const { domain: ref, page, page_size, ...filter } = query;
  const id = ref === undefined ? undefined : expectedDomainId(expected.seen, accountId, ref);
  if (ref !== undefined && id === undefined) return { keys: aheadOfName(expected, accountId, ref), again: true };
  // With a filter `name`, only the records with this name are read. The domain's own name is needed to find them.
  if (ref !== undefined && filter.name !== undefined) return aheadOfDomain(expected, accountId, ref);
  if (id !== undefined) {
    return { keys: [domainKey(accountId, id), zoneKey(accountId, id)], ranges: [recordsRange(accountId, id)] };
  }
  if (idsHeld(expected.permissions, "dns.view", "workspace") !== "all") return {};
  const span = isFiltered(filter) ? { skip: 0, take: filterLimit } : spanOf({ page, page_size });
  return aheadOfRows(recordsOf(accountId), span);
}

const oldestFirst = (records: readonly StoredRecord[]): StoredRecord[] => records.toSorted((a, b) => a.id - b.id);

async function recordsOfDomain(
  { account_id, id, name: zone }: StoredDomain,
  name: string | undefined,
  { table }: Context,
): Promise<StoredRecord[]> {
  if (name === undefined) return oldestFirst(await recordsIn(table, account_id, id));
  return oldestFirst(await recordsIn(table, account_id, id, relativeTo(zone, name) ?? name));
}

async function recordsOfAccount(accountId: string, { table }: Context): Promise<StoredRecord[]> {
  const { rows, total } = await readRows(table, recordsOf(accountId), { skip: 0, take: filterLimit });
  if (total > filterLimit) throw tooBroad();
  return rows.map((row) => StoredRecord.parse(row));
}

async function pageOfAccount(accountId: string, page: PageQuery, { table }: Context): Promise<RecordPage> {
  const { rows, total } = await readRows(table, recordsOf(accountId), spanOf(page));
  const records = rows.map((row) => StoredRecord.parse(row));
  return { items: await recordViews(table, accountId, records), total };
}

const tooBroad = (): InvalidInput =>
  invalidAt(["query", "domain"], "There are too many records or domains for this list. Give a domain", "too_broad");
