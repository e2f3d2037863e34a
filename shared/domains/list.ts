import type * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import { covers, scopesHeld } from "../auth/permissions.ts";
import { InvalidInput } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import { type PageQuery, type RowSource, spanOf, totalOf } from "../core/page.ts";
import { line } from "../core/text.ts";
import type { Context, Expected } from "../http/route.ts";
import { atOneMoment, type Listed, type Moment } from "../table/moment.ts";
import { aheadOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { tagsAmong } from "../tags/tag.ts";
import { domainsIn, domainsOf, DomainStatus, type StoredDomain, type Domain } from "./domain.ts";
import { type DomainFilter, filteredDomains, openDomains, referredIds } from "./filtered.ts";
import { domainsByIds } from "./find.ts";
import { unicodeOf } from "./name.ts";
import { domainViews } from "./view.ts";

/** The filters of a list of domains; a domain must match all given filters. */
export const domainQuery = {
  workspace_id: Id.optional().meta({ description: "Only the domains of this workspace." }),
  status: DomainStatus.optional().meta({ description: "Only domains with this status." }),
  tag_id: Id.optional().meta({ description: "Only domains with this tag." }),
  search: line({
    most: 253,
    description: "Only domains whose name contains this text, in either form of the name.",
  }).optional(),
};
type DomainQuery = PageQuery & z.output<z.ZodObject<typeof domainQuery>>;

/** The items that `listDomains` reads for a principal who lists the whole account without a filter. */
export function aheadOfDomains(
  accountId: string,
  { page, page_size, ...filter }: DomainQuery,
  { permissions }: Expected,
): Ahead {
  const isWhole = Object.values(filter).every((value) => value === undefined) && covers(permissions, "domain.view", []);
  return isWhole ? aheadOfRows(domainsOf(accountId), spanOf({ page, page_size })) : {};
}

const filterLimit = 20_000;

/**
 * A page of the domains that the principal sees, oldest first. A principal that does not see the whole account gets
 * them grouped by workspace. Throws 422 when a filter would look at more than 20,000 domains.
 */
export async function listDomains(
  accountId: string,
  { page, page_size, workspace_id, ...filter }: DomainQuery,
  context: Context,
): Promise<{ items: Domain[]; total: number }> {
  const { table } = context;
  const { skip, take } = spanOf({ page, page_size });
  const wanted = await filterOf(accountId, filter, context);
  if (!wanted) return { items: [], total: 0 };
  const { name, rest } = wanted;
  const scope = workspace_id === undefined ? [] : [{ type: "workspace" as const, id: workspace_id }];
  const isWhole = covers(context.permissions, "domain.view", scope);
  const { rows, total } = await atOneMoment(table, async (moment) => {
    if ((name || rest) && isWhole) {
      const place = { accountId, workspaceId: workspace_id };
      const found = await filteredDomains(moment, table, place, { name, rest }, { skip, take, limit: filterLimit });
      if (!found) throw tooMany();
      return found;
    }
    const sources = await sourcesOf(moment, accountId, workspace_id, context);
    if (!name && !rest) return moment.page(sources, skip, take);
    if (totalOf(sources) > filterLimit) throw tooMany();
    const { rows: all } = await moment.page(sources, 0, filterLimit);
    const kept = all.filter((domain) => (name?.(domain.name) ?? true) && (rest?.(domain) ?? true));
    return { rows: kept.slice(skip, skip + take), total: kept.length };
  });
  return { items: await domainViews(table, accountId, rows), total };
}

const tooMany = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["query"],
      msg: `A filter looks at ${filterLimit.toLocaleString("en-US")} domains at most. Give a workspace_id too`,
      type: "too_broad",
    },
  ]);

/** The conditions of the given filters; undefined if no domain can fulfil them. */
async function filterOf(
  accountId: string,
  { status, tag_id, search }: Omit<DomainQuery, keyof PageQuery | "workspace_id">,
  { table }: Context,
): Promise<DomainFilter | undefined> {
  const text = search?.normalize("NFKC").toLowerCase();
  // Domains keep the ids of deleted tags, so a deleted tag has to be looked for here.
  const isGone = tag_id !== undefined && !(await tagsAmong(table, accountId, [tag_id])).has(tag_id);
  if (isGone) return undefined;
  return {
    name: text === undefined ? undefined : (name) => name.includes(text) || unicodeOf(name).includes(text),
    rest:
      status === undefined && tag_id === undefined
        ? undefined
        : (domain) =>
            (status === undefined || domain.status === status) &&
            (tag_id === undefined || domain.tag_ids.includes(tag_id)),
  };
}

type Wanted = { capability: Capability; limit: number; workspaceId?: string | undefined };
type Asker = Pick<Context, "table" | "permissions">;

/**
 * The domains of the account, or of one workspace, on which the principal holds a capability; undefined when there are
 * more than `limit`.
 */
export const visibleDomains = (accountId: string, wanted: Wanted, asker: Asker): Promise<StoredDomain[] | undefined> =>
  atOneMoment(asker.table, (moment) => domainsAtOnce(moment, accountId, wanted, asker));

/** Like `visibleDomains`, as part of a `Moment` that other lists share. */
export async function domainsAtOnce(
  moment: Moment,
  accountId: string,
  { capability, limit, workspaceId }: Wanted,
  asker: Asker,
): Promise<StoredDomain[] | undefined> {
  const sources = await sourcesOf(moment, accountId, workspaceId, asker, capability);
  return totalOf(sources) > limit ? undefined : (await moment.page(sources, 0, limit)).rows;
}

/** The sources of all domains on which the principal holds a capability, in the account or in one workspace. */
async function sourcesOf(
  moment: Moment,
  accountId: string,
  workspaceId: string | undefined,
  { table, permissions }: Asker,
  capability: Capability = "domain.view",
): Promise<RowSource<StoredDomain>[]> {
  const workspaces = scopesHeld(permissions, capability, "workspace");
  if (workspaces === "all" && workspaceId === undefined) {
    return openDomains(moment, accountId);
  }
  // Domains that were read before the lists could be between two of them.
  table.dropAhead?.();
  const seen = workspaces === "all" ? [workspaceId ?? ""] : workspaces;
  const wanted = seen.filter((id) => workspaceId === undefined || id === workspaceId).toSorted();
  const sources = await moment.open(wanted.map((id) => inWorkspace(table, accountId, id)));
  const single = scopesHeld(permissions, capability, "domain");
  if (single === "all" || single.length === 0) return sources;
  const alone = (await domainsByIds(table, accountId, single.toSorted())).filter(
    (domain) =>
      !covers(permissions, capability, [{ type: "workspace", id: domain.workspace_id }]) &&
      (workspaceId === undefined || domain.workspace_id === workspaceId),
  );
  return [...sources, { total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) }];
}

/** The domains in a workspace. A reference to a domain that has moved to another workspace meanwhile is left out. */
const inWorkspace = (table: Reader, accountId: string, id: string): Listed<StoredDomain> => ({
  list: domainsIn(accountId, id),
  resolve: async (rows) => {
    return (await domainsByIds(table, accountId, referredIds(rows))).filter(({ workspace_id }) => workspace_id === id);
  },
});
