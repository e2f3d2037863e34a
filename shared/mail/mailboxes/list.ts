import type * as z from "zod";

import { covers } from "../../auth/permissions.ts";
import { invalidAt, type InvalidInput } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { orderQuery, type PageQuery, type RowSource, spanOf, totalOf } from "../../core/page.ts";
import { line } from "../../core/text.ts";
import { domainKey } from "../../domains/domain.ts";
import {
  aheadOfName,
  domainByRef,
  domainsByIds,
  expectedDomainId,
  scopesOfDomain,
  seenDomain,
} from "../../domains/find.ts";
import { domainsAtOnce } from "../../domains/list.ts";
import { DomainRef } from "../../domains/name.ts";
import type { Context, Expected } from "../../http/route.ts";
import { ListChanged, type Moment, atOneMoment } from "../../table/moment.ts";
import { aheadOfRows, readHeads } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import { mailboxByRef, scopesOfMailbox } from "./find.ts";
import { readAddress } from "./local-part.ts";
import { accountSources, domainSources, directGrantSources } from "./lookup.ts";
import { Mailbox, mailboxesIn, mailboxesOf, type StoredMailbox } from "./mailbox.ts";
import { namedOf } from "./names.ts";
import { headIn } from "./plan.ts";
import { MailboxSort, searchLimit, searchNames, type Selection, selectNamed, tooBroad } from "./search.ts";
import { placeKeys, mailboxViews, notePlaces, seenPlaces } from "./view.ts";

/** The filters of a list of mailboxes; a mailbox must match all given filters. */
export const mailboxQuery = {
  domain: DomainRef.optional().meta({ description: "Only the mailboxes of this domain, by its name or id." }),
  workspace_id: Id.optional().meta({ description: "Only the mailboxes of this workspace's domains." }),
  search: line({
    most: 320,
    description:
      "Only mailboxes with this text in an address, an alias or a name. A whole address finds the one mailbox that has it.",
  })
    .toLowerCase()
    .optional(),
  status: Mailbox.shape.status.optional().meta({ description: "Only mailboxes with this status." }),
};
export type MailboxFilter = z.output<z.ZodObject<typeof mailboxQuery>>;

/** The order of a list of mailboxes. */
export const mailboxOrder = {
  sort: MailboxSort.optional().meta({
    description:
      "The member by which the mailboxes are sorted. Without `sort`, the mailboxes are grouped by domain if you filter by workspace, or if you may see only a part of the account.",
  }),
  ...orderQuery("asc"),
};
type MailboxQuery = PageQuery & MailboxFilter & z.output<z.ZodObject<typeof mailboxOrder>>;

/**
 * The items that `listMailboxes` reads for a domain, or for a principal who lists the whole account. They include the
 * domains and workspaces that the process saw last.
 */
export function aheadOfMailboxes(
  accountId: string,
  { page, page_size, domain, workspace_id, ...selection }: MailboxQuery,
  { permissions, seen }: Expected,
): Ahead {
  const name = domain === undefined ? [] : aheadOfName({ seen }, accountId, domain);
  if (workspace_id !== undefined || isSelective(selection, true)) return { keys: name };
  const span = spanOf({ page, page_size, order: selection.order });
  if (domain === undefined) {
    if (!covers(permissions, "mailbox.view", [])) return {};
    const { keys = [], ...rows } = aheadOfRows(mailboxesOf(accountId), span);
    return { ...rows, keys: [...keys, ...seenPlaces(accountId, seen)] };
  }
  const id = expectedDomainId(seen, accountId, domain);
  if (id === undefined) return { keys: name };
  const home = seenDomain({ seen }, accountId, id);
  const { keys = [], ...rows } = aheadOfRows(mailboxesIn(accountId, id), span);
  // The domain is read for its list, and again for the views of the mailboxes.
  const homes = { domains: [id, id], workspaces: home ? [home.workspace_id] : [] };
  return { ...rows, keys: [...(home && headIn(home) ? [] : keys), ...placeKeys(accountId, homes)] };
}

/**
 * The most domains whose mailboxes are listed together, for a workspace or for a principal that sees only some domains.
 */
const domainLimit = 2_000;

/**
 * Whether all mailboxes must be read to select or sort the mailboxes of a page. `isByAge` says whether the mailboxes
 * are sorted by their age already.
 */
const isSelective = ({ search, status, sort }: Selection, isByAge: boolean): boolean =>
  search !== undefined || status !== undefined || (sort !== undefined && !(isByAge && sort === "created_at"));

/**
 * A page of the mailboxes that the principal sees, oldest first unless the query says otherwise. Without `sort`, the
 * mailboxes are grouped by domain for a workspace, or for a principal that sees only part of the account. Throws 422
 * `too_broad` if too many domains or mailboxes would have to be read.
 */
export async function listMailboxes(
  accountId: string,
  { page, page_size, ...filter }: MailboxQuery,
  context: Context,
): Promise<{ items: Mailbox[]; total: number }> {
  const { skip, take } = spanOf({ page, page_size });
  return atOneMoment(context.table, async (moment) => {
    const { rows, total } = await selectMailboxes(moment, accountId, filter, { skip, take }, context);
    const items = await mailboxViews(context.table, accountId, rows);
    const isIn = ({ workspace_id }: Mailbox) =>
      filter.workspace_id === undefined || workspace_id === filter.workspace_id;
    // If a mailbox is missing, its domain was deleted or moved to another workspace meanwhile. Then the page has to be
    // read again.
    if (items.filter(isIn).length < rows.length) throw new ListChanged();
    notePlaces(context.table, accountId, items);
    return { items, total };
  });
}

/** The domain and the workspace that a filter names. */
type Where = Pick<MailboxFilter, "domain" | "workspace_id">;

/**
 * The mailboxes with ranks `skip` to `skip + take − 1` among the mailboxes that match the filter and that the principal
 * sees.
 */
async function selectMailboxes(
  moment: Moment,
  accountId: string,
  { domain, workspace_id, ...selection }: Where & Selection,
  { skip, take }: { skip: number; take: number },
  context: Context,
): Promise<{ rows: StoredMailbox[]; total: number }> {
  const { table, permissions } = context;
  const where = { domain, workspace_id };
  const { search, order } = selection;
  if (search !== undefined && readAddress(search)) {
    const rows = (await byAddress(accountId, search, where, context)).filter(hasStatus(selection));
    return { rows: rows.slice(skip, skip + take), total: rows.length };
  }
  const isByAge = domain !== undefined || (workspace_id === undefined && covers(permissions, "mailbox.view", []));
  if (!isSelective(selection, isByAge)) {
    return moment.page(await sourcesOf(moment, accountId, where, context), skip, take, order);
  }
  const place = await wholePlace(accountId, where, context);
  const found = place && (await searchNames(moment, table, place, selection, { skip, take }));
  if (found) return found;
  const sources = await sourcesOf(moment, accountId, where, context);
  if (totalOf(sources) > searchLimit) throw tooBroad();
  const { rows } = await moment.page(sources, 0, searchLimit);
  const ids = [...new Set(rows.map(({ domain_id }) => domain_id))];
  const homes = new Map((await domainsByIds(table, accountId, ids)).map((home) => [home.id, home]));
  const named = rows.flatMap((row) => {
    const home = homes.get(row.domain_id);
    return home ? [{ ...namedOf(row, home), row }] : [];
  });
  const kept = selectNamed(named, selection);
  return { rows: kept.slice(skip, skip + take).map(({ row }) => row), total: kept.length };
}

const hasStatus =
  ({ status }: Selection) =>
  (mailbox: StoredMailbox): boolean =>
    status === undefined || mailbox.status === status;

/**
 * The account, or the domain or workspace that a filter names. Undefined if the domain does not exist there, or if the
 * principal does not see every mailbox there.
 */
async function wholePlace(
  accountId: string,
  { domain: ref, workspace_id: workspaceId }: Where,
  { table, permissions }: Context,
) {
  const domain = ref === undefined ? undefined : await domainByRef(table, accountId, ref);
  if (ref !== undefined && (!domain || (workspaceId !== undefined && domain.workspace_id !== workspaceId)))
    return undefined;
  const ofWorkspace = workspaceId === undefined ? [] : [{ type: "workspace" as const, id: workspaceId }];
  const isWhole = covers(permissions, "mailbox.view", domain ? scopesOfDomain(domain) : ofWorkspace);
  return isWhole ? { accountId, domain, workspaceId } : undefined;
}

/**
 * The mailbox with an address, if the principal sees this mailbox and if it is in the domain and the workspace of the
 * filter.
 */
async function byAddress(
  accountId: string,
  search: string,
  { domain, workspace_id }: Where,
  { table, permissions }: Context,
): Promise<StoredMailbox[]> {
  const found = await mailboxByRef(table, accountId, search, { byAlias: true });
  const isIn =
    found !== undefined &&
    covers(permissions, "mailbox.view", scopesOfMailbox(found)) &&
    (domain === undefined || domain === found.domain.name || domain === found.domain.id) &&
    (workspace_id === undefined || workspace_id === found.domain.workspace_id);
  return isIn ? [found.mailbox] : [];
}

/** The sources of all mailboxes that the principal sees: of the account, of one domain, or of a workspace's domains. */
async function sourcesOf(
  moment: Moment,
  accountId: string,
  { domain: ref, workspace_id }: Where,
  context: Context,
): Promise<RowSource<StoredMailbox>[]> {
  const { table, permissions } = context;
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    if (domain) table.seen?.note({ ...domainKey(accountId, domain.id), ...domain });
    const isIn = domain && (workspace_id === undefined || domain.workspace_id === workspace_id);
    if (!isIn) return [];
    const isSeen = covers(permissions, "mailbox.view", scopesOfDomain(domain));
    return isSeen
      ? domainSources(moment, table, accountId, [domain])
      : directGrantSources(accountId, [domain], context);
  }
  const isAll = covers(permissions, "mailbox.view", []);
  if (isAll && workspace_id === undefined) return accountSources(moment, accountId);
  const [since] = await readHeads(table, [mailboxesOf(accountId)]);
  const wanted = { capability: "mailbox.view", limit: domainLimit, workspaceId: workspace_id } as const;
  const domains = await domainsAtOnce(moment, accountId, wanted, context);
  if (!domains) throw tooMany();
  const sources = await domainSources(moment, table, accountId, domains, since);
  return [...sources, ...(await directGrantSources(accountId, undefined, context, workspace_id))];
}

const tooMany = (): InvalidInput =>
  invalidAt(
    ["query", "domain"],
    `The list covers more than ${domainLimit.toLocaleString("en-US")} domains. Choose one domain`,
    "too_broad",
  );
