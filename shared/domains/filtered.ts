import * as z from "zod";

import { ordinalOf } from "../core/ids.ts";
import type { Order } from "../core/page.ts";
import { ListChanged, type Moment } from "../table/moment.ts";
import { rowKey } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { domainNameKey, domainsIn, domainsOf, StoredDomain } from "./domain.ts";
import { domainsByIds } from "./find.ts";

/**
 * Conditions on domains: `name` on the name alone, and `rest` on the other members. A domain must fulfil all given
 * conditions.
 */
export type DomainFilter = {
  name?: ((name: string) => boolean) | undefined;
  rest?: ((domain: StoredDomain) => boolean) | undefined;
};

/** The members by which domains are sorted. */
export const DomainSort = z.enum(["created_at", "name", "expires_at"]);
type DomainSort = z.output<typeof DomainSort>;

/**
 * The order of a list of domains. Without `sort`, the domains of an account are in the order of their creation, and the
 * domains of a workspace in the order in which they came into the workspace.
 */
export type DomainOrder = { sort?: DomainSort | undefined; order: Order };

type Compare = (a: StoredDomain, b: StoredDomain) => number;

const compareIds = (a: string, b: string): number => (ordinalOf(a) ?? 0) - (ordinalOf(b) ?? 0);
/** The end of a domain's registration. `~` sorts after all times. */
const endOf = ({ registration }: StoredDomain): string => registration?.expires_at ?? "~";
/** Orders domains by the end of their registration. A domain without a registration never expires, so it is last. */
function compareEnds(a: StoredDomain, b: StoredDomain): number {
  const [endOfA, endOfB] = [endOf(a), endOf(b)];
  if (endOfA === endOfB) return compareIds(a.id, b.id);
  return endOfA < endOfB ? -1 : 1;
}
/** Orders the domains of a workspace by the order in which they came into the workspace. */
const byPlace: Compare = (a, b) => a.workspace_ordinal - b.workspace_ordinal;
const comparisons: Record<DomainSort, Compare> = {
  created_at: (a, b) => compareIds(a.id, b.id),
  name: (a, b) => (a.name < b.name ? -1 : 1),
  expires_at: compareEnds,
};

/**
 * Sorts domains by `sort`, or else by `byDefault`. If both are absent, the domains keep their order. With the order
 * `desc`, the result is reversed.
 */
export function sortDomains(
  domains: readonly StoredDomain[],
  { sort, order }: DomainOrder,
  byDefault: Compare = () => 0,
): StoredDomain[] {
  const sorted = domains.toSorted(sort === undefined ? byDefault : comparisons[sort]);
  return order === "asc" ? sorted : sorted.toReversed();
}

/**
 * The approximate cost of reading one item, in read units:
 * - `pointer`, `reference` and `row`: an item in a query that reads many items.
 * - `byId`: a row that is read alone, by its key.
 */
const units = { pointer: 0.03, reference: 0.04, row: 0.16, byId: 1 };

/** An item that leads from the name of a domain to its id. */
const Pointer = z.object({ SK: z.string(), domain_id: z.string() });
/** A row in the list of a workspace's domains. */
const Reference = z.object({ domain_id: z.string() });

/** The ids of the domains that the rows of a workspace's list refer to. */
export const referredIds = (rows: readonly object[]): string[] => rows.map((row) => Reference.parse(row).domain_id);

/** Opens the list of the ids of a workspace's domains. */
export const openReferences = (moment: Moment, accountId: string, workspaceId: string) =>
  moment.open([{ list: domainsIn(accountId, workspaceId), resolve: async (rows) => referredIds(rows) }]);

/** The ids of an account's domains whose names fulfil a condition, in the order of their names. */
async function idsByName(table: Reader, accountId: string, isWanted: DomainFilter["name"]): Promise<string[]> {
  const { PK, SK } = domainNameKey(accountId, "");
  const pointers = (await table.between(PK, SK, `${SK}~`)).map((item) => Pointer.parse(item));
  return pointers
    .filter((pointer) => isWanted?.(pointer.SK.slice(SK.length)) ?? true)
    .map(({ domain_id }) => domain_id);
}

/**
 * The ids that are in both lists, sorted. `inWorkspace` is in the order of a workspace, `named` in the order of the
 * names. An undefined list excludes nothing. Without `named`, the ids cannot be sorted by name and keep their order.
 */
function sortIds(
  inWorkspace: readonly string[] | undefined,
  named: readonly string[] | undefined,
  { sort, order }: DomainOrder,
): string[] {
  const namedIds = new Set(named);
  const both = inWorkspace && named ? inWorkspace.filter((id) => namedIds.has(id)) : (inWorkspace ?? named ?? []);
  const wantedIds = new Set(both);
  const byName = sort === "name" ? named?.filter((id) => wantedIds.has(id)) : undefined;
  const keepsPlaces = inWorkspace !== undefined && sort !== "created_at";
  const sorted = byName ?? (keepsPlaces ? both : both.toSorted(compareIds));
  return order === "asc" ? [...sorted] : sorted.toReversed();
}

/** Opens the list of an account's domains. */
export const openDomains = (moment: Moment, accountId: string) =>
  moment.open([{ list: domainsOf(accountId), resolve: async (rows) => rows.map((row) => StoredDomain.parse(row)) }]);

/** Reads the rows of domains, or all rows of the account. Throws `ListChanged` if one of the domains is gone. */
async function readRows(table: Reader, accountId: string, ids?: readonly string[]): Promise<StoredDomain[]> {
  const list = domainsOf(accountId);
  if (!ids) {
    // No list of domains has an ordinal as high as 2 ** 33.
    const rows = await table.between(list.partition, rowKey(list, 0).SK, rowKey(list, 2 ** 33).SK);
    return rows.map((row) => StoredDomain.parse(row));
  }
  const rows = await domainsByIds(table, accountId, ids);
  if (rows.length < ids.length) throw new ListChanged();
  return rows;
}

/**
 * A sorted page of the domains that fulfil a filter, among the domains of the account or of one workspace. Undefined if
 * the account, or the workspace, has more than `limit` domains.
 *
 * Reads the ids of the domains before their rows, from one of these sources or both, whichever costs less:
 * - for a condition on names or an order by name, the account's pointers from names to ids;
 * - for a workspace, the workspace's references to domains.
 *
 * If it costs less to read all rows of the account than to read ids first, reads all rows. If the ids alone decide
 * which domains are on the page, reads only the rows of these domains.
 *
 * A domain can move while its row is read, so the caller must check with `moment` that the lists are unchanged.
 */
export async function filteredDomains(
  moment: Moment,
  table: Reader,
  { accountId, workspaceId }: { accountId: string; workspaceId: string | undefined },
  { name, rest, ...sorting }: DomainFilter & DomainOrder,
  { skip, take, limit }: { skip: number; take: number; limit: number },
): Promise<{ rows: StoredDomain[]; total: number } | undefined> {
  const [[all], [references]] = await Promise.all([
    openDomains(moment, accountId),
    workspaceId === undefined ? [] : openReferences(moment, accountId, workspaceId),
  ]);
  const [accountTotal, placeTotal] = [all?.total ?? 0, (references ?? all)?.total ?? 0];
  if (placeTotal > limit) return undefined;
  const referencesCost = placeTotal * (units.reference + units.byId);
  const needsNames = name !== undefined || sorting.sort === "name";
  const readsPointers = needsNames && (!references || accountTotal * units.pointer < referencesCost);
  const named = readsPointers ? await idsByName(table, accountId, name) : undefined;
  // Without the references, the rows of other workspaces are read too, and are left out afterwards. So the references
  // are skipped only if that costs less in all.
  const skipsReferences = named
    ? named.length * units.byId < placeTotal * units.reference
    : accountTotal * units.row < referencesCost;
  const inWorkspace = references && !skipsReferences ? await references.read(0, placeTotal) : undefined;
  const ids = named || inWorkspace ? sortIds(inWorkspace, named, sorting) : undefined;
  // If the ids alone decide the workspace, the names and the order, only the rows of the page are read.
  const isPlaceDecided = inWorkspace !== undefined || !references;
  const areNamesDecided = readsPointers || !needsNames;
  const isOrderDecided = sorting.sort !== "expires_at";
  if (ids && isPlaceDecided && areNamesDecided && isOrderDecided && !rest) {
    return { rows: await readRows(table, accountId, ids.slice(skip, skip + take)), total: ids.length };
  }
  const found = (await readRows(table, accountId, ids)).filter(
    (domain) =>
      (workspaceId === undefined || domain.workspace_id === workspaceId) &&
      (readsPointers || !name || name(domain.name)) &&
      (rest?.(domain) ?? true),
  );
  const sorted = sortDomains(found, sorting, references ? byPlace : comparisons.created_at);
  return { rows: sorted.slice(skip, skip + take), total: sorted.length };
}
