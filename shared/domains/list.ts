import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import { covers, type Permissions, idsHeld } from "../auth/permissions.ts";
import { invalidAt, type InvalidInput } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import { orderQuery, type PageQuery, type RowSource, spanOf, totalOf } from "../core/page.ts";
import { line } from "../core/text.ts";
import type { Context, Expected } from "../http/route.ts";
import { atOneMoment, type ResolvedList, type Moment } from "../table/moment.ts";
import { aheadOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { tagByRef, tagsAmong } from "../tags/tag.ts";
import { DnsMode, Domain, domainsIn, domainsOf, DomainStatus, type StoredDomain } from "./domain.ts";
import {
  type DomainFilter,
  type DomainOrder,
  DomainSort,
  filteredDomains,
  openDomains,
  referredIds,
  sortDomains,
} from "./filtered.ts";
import { domainsByIds } from "./find.ts";
import { unicodeOf } from "./name.ts";
import { domainViews } from "./view.ts";

/** The filters of a list of domains; a domain must match all given filters. */
export const domainQuery = {
  workspace_id: Id.optional().meta({ description: "Only the domains of this workspace." }),
  status: DomainStatus.optional().meta({ description: "Only domains with this status." }),
  source: Domain.shape.source.optional().meta({ description: "Only domains with this source." }),
  dns_mode: DnsMode.optional().meta({ description: "Only domains with this DNS mode." }),
  expires_before: z.iso.datetime({ offset: true }).optional().meta({
    description: "Only domains whose registration here ends before this time (RFC 3339).",
  }),
  tag: line({ most: 50, description: "Only domains with this tag, by its name or id." }).optional(),
  tag_id: Id.optional().meta({ description: "Only domains with the tag that has this id." }),
  search: line({
    most: 253,
    description: "Only domains whose name contains this text, in A-labels or in Unicode.",
  }).optional(),
};

/** The order of a list of domains. */
export const domainOrder = {
  sort: DomainSort.optional().meta({
    description:
      "The member by which the domains are sorted. Names are sorted by their A-labels. Without `sort`, the domains of a workspace are in the order in which they came into the workspace. With `expires_at`, domains without a registration count as the latest. A sort covers 20,000 domains at most, unless it is the sort of a whole account by `created_at`.",
  }),
  ...orderQuery("asc"),
};
type DomainQuery = PageQuery & z.output<z.ZodObject<typeof domainQuery>> & DomainOrder;

/** Whether the list is the whole account. The domains of an account are stored in the order of their creation. */
const isByAge = (permissions: Permissions, workspaceId: string | undefined): boolean =>
  workspaceId === undefined && covers(permissions, "domain.view", []);

/** The items that `listDomains` reads for a principal who lists the whole account without a filter. */
export function aheadOfDomains(
  accountId: string,
  { page, page_size, sort, order, ...filter }: DomainQuery,
  { permissions }: Expected,
): Ahead {
  const isPlain =
    (sort === undefined || sort === "created_at") && Object.values(filter).every((value) => value === undefined);
  if (!isPlain || !isByAge(permissions, undefined)) return {};
  return aheadOfRows(domainsOf(accountId), spanOf({ page, page_size, order }));
}

/** How many domains a filter or a sort looks at, at most. */
const filterLimit = 20_000;

/**
 * A page of the domains that the principal sees, in the order of the query. Without `sort`:
 * - the domains of an account are oldest first;
 * - the domains of a workspace are in the order in which they came into the workspace;
 * - a principal that does not see the whole account gets the domains grouped by workspace.
 *
 * Throws 422 if a filter or a sort would look at more than 20,000 domains.
 */
export async function listDomains(
  accountId: string,
  { page, page_size, workspace_id, sort, order, ...filter }: DomainQuery,
  context: Context,
): Promise<{ items: Domain[]; total: number }> {
  const { table } = context;
  const { skip, take } = spanOf({ page, page_size });
  const conditions = await filterOf(accountId, filter, context);
  if (!conditions) return { items: [], total: 0 };
  const { name, rest } = conditions;
  const isStoredOrder = sort === undefined || (sort === "created_at" && isByAge(context.permissions, workspace_id));
  const scope = workspace_id === undefined ? [] : [{ type: "workspace" as const, id: workspace_id }];
  const isWhole = covers(context.permissions, "domain.view", scope);
  const { rows, total } = await atOneMoment(table, async (moment) => {
    if ((name || rest || !isStoredOrder) && isWhole) {
      const place = { accountId, workspaceId: workspace_id };
      const ordered = { name, rest, sort, order };
      const found = await filteredDomains(moment, table, place, ordered, { skip, take, limit: filterLimit });
      if (!found) throw tooMany();
      await moment.unchanged();
      return found;
    }
    const sources = await sourcesOf(moment, accountId, workspace_id, context);
    if (!name && !rest && isStoredOrder) return moment.page(sources, skip, take, order);
    if (totalOf(sources) > filterLimit) throw tooMany();
    const { rows: all } = await moment.page(sources, 0, filterLimit);
    const found = all.filter((domain) => (name?.(domain.name) ?? true) && (rest?.(domain) ?? true));
    const kept = sortDomains(found, { sort, order });
    return { rows: kept.slice(skip, skip + take), total: kept.length };
  });
  return { items: await domainViews(table, accountId, rows), total };
}

const tooMany = (): InvalidInput =>
  invalidAt(
    ["query"],
    `A filter or a sort looks at ${filterLimit.toLocaleString("en-US")} domains at most. Give a workspace_id too, or leave the filter or the sort out`,
    "too_broad",
  );

/** The conditions of the given filters; undefined if no domain can fulfil them. */
async function filterOf(
  accountId: string,
  {
    search,
    tag,
    tag_id,
    expires_before,
    ...members
  }: Omit<DomainQuery, keyof PageQuery | "workspace_id" | "sort" | "order">,
  { table }: Context,
): Promise<DomainFilter | undefined> {
  const text = search?.normalize("NFKC").toLowerCase();
  // Domains keep the ids of deleted tags. So the tags are looked up, and no domain fulfils a filter by a deleted tag.
  const tags = await Promise.all([
    ...(tag === undefined ? [] : [tagByRef(table, accountId, tag)]),
    ...(tag_id === undefined ? [] : [tagsAmong(table, accountId, [tag_id]).then((found) => found.get(tag_id))]),
  ]);
  if (tags.includes(undefined)) return undefined;
  const conditions: ((domain: StoredDomain) => boolean)[] = [
    // The filters that are left have the names of the members that they compare.
    ...Object.entries(members).flatMap(([name, value]) =>
      value === undefined ? [] : [(domain: StoredDomain) => domain[name as keyof typeof members] === value],
    ),
    ...tags.map((one) => (domain: StoredDomain) => one !== undefined && domain.tag_ids.includes(one.id)),
    ...(expires_before === undefined ? [] : [endsBefore(Date.parse(expires_before))]),
  ];
  return {
    name: text === undefined ? undefined : (name) => name.includes(text) || unicodeOf(name).includes(text),
    rest: conditions.length === 0 ? undefined : (domain) => conditions.every((isFulfilled) => isFulfilled(domain)),
  };
}

const endsBefore =
  (timeMs: number) =>
  ({ registration }: StoredDomain): boolean =>
    registration?.expires_at != null && Date.parse(registration.expires_at) < timeMs;

type Wanted = { capability: Capability; limit: number; workspaceId?: string | undefined };
type Viewer = Pick<Context, "table" | "permissions">;

/**
 * The domains of the account, or of one workspace, on which the principal holds a capability; undefined if there are
 * more than `limit`.
 */
export const visibleDomains = (
  accountId: string,
  wanted: Wanted,
  viewer: Viewer,
): Promise<StoredDomain[] | undefined> =>
  atOneMoment(viewer.table, async (moment) => {
    const domains = await domainsAtOnce(moment, accountId, wanted, viewer);
    if (wanted.workspaceId !== undefined) await moment.unchanged();
    return domains;
  });

/**
 * Like `visibleDomains`, but for a caller that also reads other lists at the same moment. For a workspace, the caller
 * must check with `moment` that the lists are unchanged.
 */
export async function domainsAtOnce(
  moment: Moment,
  accountId: string,
  { capability, limit, workspaceId }: Wanted,
  viewer: Viewer,
): Promise<StoredDomain[] | undefined> {
  if (workspaceId !== undefined && covers(viewer.permissions, capability, [{ type: "workspace", id: workspaceId }])) {
    const place = { accountId, workspaceId };
    return (await filteredDomains(moment, viewer.table, place, { order: "asc" }, { skip: 0, take: limit, limit }))
      ?.rows;
  }
  const sources = await sourcesOf(moment, accountId, workspaceId, viewer, capability);
  return totalOf(sources) > limit ? undefined : (await moment.page(sources, 0, limit)).rows;
}

/** The lists of all domains on which the principal holds a capability, in the account or in one workspace. */
async function sourcesOf(
  moment: Moment,
  accountId: string,
  workspaceId: string | undefined,
  { table, permissions }: Viewer,
  capability: Capability = "domain.view",
): Promise<RowSource<StoredDomain>[]> {
  const workspaces = idsHeld(permissions, capability, "workspace");
  if (workspaces === "all" && workspaceId === undefined) {
    return openDomains(moment, accountId);
  }
  // A domain that was read ahead was read before the lists, and may have moved to another list meanwhile. So the
  // results of reading ahead are dropped.
  table.dropAhead?.();
  const seen = workspaces === "all" ? [workspaceId ?? ""] : workspaces;
  const wanted = seen.filter((id) => workspaceId === undefined || id === workspaceId).toSorted();
  const sources = await moment.open(wanted.map((id) => inWorkspace(table, accountId, id)));
  // The domains on which a grant for the domain itself gives the capability.
  const singleIds = idsHeld(permissions, capability, "domain");
  if (singleIds === "all" || singleIds.length === 0) return sources;
  const single = (await domainsByIds(table, accountId, singleIds.toSorted())).filter(
    (domain) =>
      !covers(permissions, capability, [{ type: "workspace", id: domain.workspace_id }]) &&
      (workspaceId === undefined || domain.workspace_id === workspaceId),
  );
  return [...sources, { total: single.length, read: async (skip, take) => single.slice(skip, skip + take) }];
}

/** The list of the domains in a workspace, without domains that have moved to another workspace meanwhile. */
const inWorkspace = (table: Reader, accountId: string, id: string): ResolvedList<StoredDomain> => ({
  list: domainsIn(accountId, id),
  resolve: async (rows) => {
    return (await domainsByIds(table, accountId, referredIds(rows))).filter(({ workspace_id }) => workspace_id === id);
  },
});
