import * as z from "zod";

import { ordinalOf } from "../core/ids.ts";
import { ListChanged, type Moment } from "../table/moment.ts";
import { rowKey } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { domainNameKey, domainsIn, domainsOf, StoredDomain } from "./domain.ts";
import { domainsByIds } from "./find.ts";

/** Conditions on domains. A domain must fulfil all given ones. */
export type DomainFilter = {
  name?: ((name: string) => boolean) | undefined;
  rest?: ((domain: StoredDomain) => boolean) | undefined;
};

/**
 * The approximate read units of one domain: by its pointer, its workspace's reference or its row, each in a query, and
 * by the key of its row.
 */
const units = { pointer: 0.03, reference: 0.04, row: 0.16, byId: 1 };

const Pointer = z.object({ SK: z.string(), domain_id: z.string() });
const Reference = z.object({ domain_id: z.string() });

/** The ids of the domains that the rows of a workspace's list refer to. */
export const referredIds = (rows: readonly object[]): string[] => rows.map((row) => Reference.parse(row).domain_id);

/** Opens the list of a workspace's domains, as their ids. */
export const openReferences = (moment: Moment, accountId: string, workspaceId: string) =>
  moment.open([{ list: domainsIn(accountId, workspaceId), resolve: async (rows) => referredIds(rows) }]);

/** The ids of an account's domains whose names fulfil a condition, oldest first. */
async function idsByName(table: Reader, accountId: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const { PK, SK } = domainNameKey(accountId, "");
  const pointers = (await table.between(PK, SK, `${SK}~`)).map((item) => Pointer.parse(item));
  return pointers
    .filter((pointer) => isWanted(pointer.SK.slice(SK.length)))
    .map(({ domain_id }) => domain_id)
    .toSorted((a, b) => (ordinalOf(a) ?? 0) - (ordinalOf(b) ?? 0));
}

/** Opens the list of an account's domains. */
export const openDomains = (moment: Moment, accountId: string) =>
  moment.open([{ list: domainsOf(accountId), resolve: async (rows) => rows.map((row) => StoredDomain.parse(row)) }]);

/** Reads the rows of domains, or all rows of the account. Throws `ListChanged` if one of the domains is gone. */
async function readRows(table: Reader, accountId: string, ids?: readonly string[]): Promise<StoredDomain[]> {
  const list = domainsOf(accountId);
  if (!ids) {
    const rows = await table.between(list.partition, rowKey(list, 0).SK, rowKey(list, 2 ** 33).SK);
    return rows.map((row) => StoredDomain.parse(row));
  }
  const rows = await domainsByIds(table, accountId, ids);
  if (rows.length < ids.length) throw new ListChanged();
  return rows;
}

/**
 * A page of the domains of an account, or of one workspace, that fulfil a filter; undefined when there are more than
 * `limit` to filter. It reads the rows of the page only, or the rows of the domains that it has to filter, in the way
 * that costs least: names from the pointers to the domains, a workspace from its references, or all rows of the account.
 */
export async function filteredDomains(
  moment: Moment,
  table: Reader,
  { accountId, workspaceId }: { accountId: string; workspaceId: string | undefined },
  { name, rest }: DomainFilter,
  { skip, take, limit }: { skip: number; take: number; limit: number },
): Promise<{ rows: StoredDomain[]; total: number } | undefined> {
  const [[all], [references]] = await Promise.all([
    openDomains(moment, accountId),
    workspaceId === undefined ? [] : openReferences(moment, accountId, workspaceId),
  ]);
  const [inAccount, inPlace] = [all?.total ?? 0, (references ?? all)?.total ?? 0];
  if (inPlace > limit) return undefined;
  const ofReferences = inPlace * (units.reference + units.byId);
  const byPointers = name && (!references || inAccount * units.pointer < ofReferences);
  const named = byPointers ? await idsByName(table, accountId, name) : undefined;
  const isDear = named ? named.length * units.byId < inPlace * units.reference : inAccount * units.row < ofReferences;
  const within = references && !isDear ? await references.read(0, inPlace) : undefined;
  const isNamed = new Set(named);
  const ids = named && within ? within.filter((id) => isNamed.has(id)) : (named ?? within);
  const isIn = ({ workspace_id }: StoredDomain): boolean => workspaceId === undefined || workspace_id === workspaceId;
  const isExact = within !== undefined || !references;
  if (ids && isExact && (byPointers || !name) && !rest) {
    const rows = await readRows(table, accountId, ids.slice(skip, skip + take));
    await moment.unchanged();
    return { rows, total: ids.length };
  }
  const kept = (await readRows(table, accountId, ids)).filter(
    (domain) => isIn(domain) && (byPointers || !name || name(domain.name)) && (rest?.(domain) ?? true),
  );
  await moment.unchanged();
  if (!isExact) kept.sort((a, b) => a.workspace_ordinal - b.workspace_ordinal);
  return { rows: kept.slice(skip, skip + take), total: kept.length };
}
