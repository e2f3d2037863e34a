import * as z from "zod";

import type { Capability } from "../auth/capabilities.ts";
import { covers, scopesHeld } from "../auth/permissions.ts";
import { InvalidInput } from "../errors.ts";
import { Id } from "../ids.ts";
import { spanOf, type PageQuery } from "../page.ts";
import type { Context } from "../route.ts";
import { readAcross, totalOf, type Source } from "../sources.ts";
import { readHeads, readRows, type List } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { tagsAmong } from "../tags.ts";
import { visibleText, visibleTextError } from "../text.ts";
import { domainsAmong } from "./among.ts";
import { domainsIn, domainsOf, DomainStatus, StoredDomain, type Domain } from "./domain.ts";
import { unicodeOf } from "./name.ts";
import { domainViews } from "./view.ts";

/** What narrows a list of domains; all that is given must hold. */
export const domainQuery = {
  workspace_id: Id.optional().meta({ description: "Only the domains of this workspace." }),
  status: DomainStatus.optional().meta({ description: "Only domains with this status." }),
  tag_id: Id.optional().meta({ description: "Only domains with this tag." }),
  search: z.string().trim().min(1).max(253).regex(visibleText, { error: visibleTextError }).optional().meta({
    description: "Only domains whose name, in either of its forms, has this in it.",
  }),
};
type DomainQuery = PageQuery & z.output<z.ZodObject<typeof domainQuery>>;

const filterLimit = 20_000;

/** A page of the domains the principal sees, oldest first; by workspace for who sees only some. */
export async function listDomains(
  accountId: string,
  { page, page_size, workspace_id, ...filter }: DomainQuery,
  context: Context,
): Promise<{ items: Domain[]; total: number }> {
  const { table, permissions } = context;
  const { skip, take } = spanOf({ page, page_size });
  const keep = filterOf(filter);
  if (!keep && workspace_id === undefined && covers(permissions, "domain.view", [])) {
    const { rows, total } = await readRows(table, domainsOf(accountId), { skip, take });
    return { items: await domainViews(table, accountId, parsed(rows)), total };
  }
  const sources = await sourcesOf(accountId, workspace_id, context);
  if (!keep) {
    const domains = await readAcross(sources, skip, take);
    return { items: await domainViews(table, accountId, domains), total: totalOf(sources) };
  }
  if (totalOf(sources) > filterLimit) throw tooMany();
  // Domains still have the ids of tags that are gone.
  const { tag_id } = filter;
  if (tag_id !== undefined && !(await tagsAmong(table, accountId, [tag_id])).has(tag_id))
    return { items: [], total: 0 };
  const kept = (await readAcross(sources, 0, filterLimit)).filter(keep);
  return { items: await domainViews(table, accountId, kept.slice(skip, skip + take)), total: kept.length };
}

const tooMany = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["query"],
      msg: `A filter looks at ${filterLimit.toLocaleString("en-US")} domains at most: give a workspace_id too`,
      type: "too_broad",
    },
  ]);

function filterOf({ status, tag_id, search }: Omit<DomainQuery, keyof PageQuery | "workspace_id">) {
  if (status === undefined && tag_id === undefined && search === undefined) return undefined;
  const text = search?.normalize("NFKC").toLowerCase();
  return (domain: StoredDomain): boolean =>
    (status === undefined || domain.status === status) &&
    (tag_id === undefined || domain.tag_ids.includes(tag_id)) &&
    (text === undefined || domain.name.includes(text) || unicodeOf(domain.name).includes(text));
}

/** The domains on which the principal holds a capability, of the account or of one workspace; undefined when too many. */
export async function visibleDomains(
  accountId: string,
  capability: Capability,
  limit: number,
  context: Pick<Context, "table" | "permissions">,
  workspaceId?: string,
): Promise<StoredDomain[] | undefined> {
  const sources = await sourcesOf(accountId, workspaceId, context, capability);
  return totalOf(sources) > limit ? undefined : readAcross(sources, 0, limit);
}

/** All domains that the principal may see, of the account or of one workspace. */
async function sourcesOf(
  accountId: string,
  workspaceId: string | undefined,
  { table, permissions }: Pick<Context, "table" | "permissions">,
  capability: Capability = "domain.view",
): Promise<Source<StoredDomain>[]> {
  const workspaces = scopesHeld(permissions, capability, "workspace");
  if (workspaces === "all" && workspaceId === undefined) return [await accountSource(table, accountId)];
  const seen = workspaces === "all" ? [workspaceId ?? ""] : workspaces;
  const wanted = seen.filter((id) => workspaceId === undefined || id === workspaceId);
  const single = scopesHeld(permissions, capability, "domain");
  const named = single === "all" ? [] : await domainsAmong(table, accountId, single.toSorted());
  const alone = named.filter(
    (domain) =>
      !covers(permissions, capability, [{ type: "workspace", id: domain.workspace_id }]) &&
      (workspaceId === undefined || domain.workspace_id === workspaceId),
  );
  return [
    ...(await workspaceSources(table, accountId, wanted.toSorted())),
    { total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) },
  ];
}

async function accountSource(table: Reader, accountId: string): Promise<Source<StoredDomain>> {
  const list = domainsOf(accountId);
  const [head] = await readHeads(table, [list]);
  return {
    total: head?.live ?? 0,
    read: async (skip, take) => parsed((await readRows(table, list, { skip, take })).rows),
  };
}

const parsed = (rows: readonly Item[]): StoredDomain[] => rows.map((row) => StoredDomain.parse(row));

const Reference = z.object({ domain_id: z.string() });

async function workspaceSources(
  table: Reader,
  accountId: string,
  ids: readonly string[],
): Promise<Source<StoredDomain>[]> {
  const lists = ids.map((id) => domainsIn(accountId, id));
  const heads = await readHeads(table, lists);
  return lists.map((list, index) => ({
    total: heads[index]?.live ?? 0,
    read: (skip, take) => readReferred(table, accountId, list, skip, take),
  }));
}

async function readReferred(
  table: Reader,
  accountId: string,
  list: List,
  skip: number,
  take: number,
): Promise<StoredDomain[]> {
  const { rows } = await readRows(table, list, { skip, take });
  return domainsAmong(
    table,
    accountId,
    rows.map((row) => Reference.parse(row).domain_id),
  );
}
