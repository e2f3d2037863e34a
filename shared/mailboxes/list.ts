import * as z from "zod";

import { covers, scopesHeld } from "../auth/permissions.ts";
import { domainsAmong } from "../domains/among.ts";
import { type StoredDomain } from "../domains/domain.ts";
import { domainByRef, scopesOfDomain } from "../domains/find.ts";
import { visibleDomains } from "../domains/list.ts";
import { DomainRef } from "../domains/name.ts";
import { InvalidInput } from "../errors.ts";
import { Id } from "../ids.ts";
import { spanOf, type PageQuery } from "../page.ts";
import type { Context } from "../route.ts";
import { readAcross, totalOf, type Source } from "../sources.ts";
import { readHeads, readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { visibleText, visibleTextError } from "../text.ts";
import { mailboxByRef, scopesOfMailbox } from "./find.ts";
import { readAddress } from "./local-part.ts";
import { mailboxesIn, mailboxesOf, mailboxKey, StoredMailbox, type Mailbox } from "./mailbox.ts";
import { mailboxViews } from "./view.ts";

/** What narrows a list of mailboxes; all that is given must hold. */
export const mailboxQuery = {
  domain: DomainRef.optional().meta({ description: "Only the mailboxes of this domain, by its name or id." }),
  workspace_id: Id.optional().meta({ description: "Only the mailboxes of this workspace's domains." }),
  search: z
    .string()
    .trim()
    .toLowerCase()
    .min(1)
    .max(320)
    .regex(visibleText, { error: visibleTextError })
    .optional()
    .meta({
      description:
        "Only mailboxes with this in their address or in a name. A whole address is looked up; anything else looks at 20,000 mailboxes at most: beyond that, name a `domain` or a `workspace_id`.",
    }),
};
export type MailboxFilter = z.output<z.ZodObject<typeof mailboxQuery>>;

const searchLimit = 20_000;
/** How many domains a principal of some of them, or a workspace, may have for their mailboxes to be listed together. */
const domainLimit = 2_000;

/** A page of the mailboxes the principal sees, oldest first; by domain for a workspace and for who sees only some. */
export async function listMailboxes(
  accountId: string,
  { page, page_size, ...filter }: PageQuery & MailboxFilter,
  context: Context,
): Promise<{ items: Mailbox[]; total: number }> {
  const { table } = context;
  const { skip, take } = spanOf({ page, page_size });
  const { rows, total } = await selectMailboxes(accountId, filter, { skip, take }, context);
  return { items: await mailboxViews(table, accountId, rows), total };
}

/** The mailboxes of ranks `skip` to `skip + take − 1` among those that a filter leaves and the principal sees. */
export async function selectMailboxes(
  accountId: string,
  { search, ...where }: MailboxFilter,
  { skip, take }: { skip: number; take: number },
  context: Context,
): Promise<{ rows: StoredMailbox[]; total: number }> {
  if (search !== undefined && readAddress(search)) return byAddress(accountId, search, where, { skip, take }, context);
  const sources = await sourcesOf(accountId, where, context);
  const total = totalOf(sources);
  if (search === undefined) return { rows: await readAcross(sources, skip, take), total };
  if (total > searchLimit) throw tooBroad();
  const names = await domainNames(accountId, sources, context);
  const kept = (await readAcross(sources, 0, searchLimit)).filter((row) =>
    isLike(row, names.get(row.domain_id), search),
  );
  return { rows: kept.slice(skip, skip + take), total: kept.length };
}

const tooBroad = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["query", "search"],
      msg: `There are more than ${searchLimit.toLocaleString("en-US")} mailboxes to look at: name a domain too, or search for a whole address`,
      type: "too_broad",
    },
  ]);

const isLike = ({ local_part, first_name, last_name }: StoredMailbox, domain = "", text = ""): boolean =>
  `${local_part}@${domain}`.includes(text) || `${first_name} ${last_name}`.toLowerCase().includes(text);

/** The names of the domains whose mailboxes are looked at. */
async function domainNames(
  accountId: string,
  sources: readonly Source<StoredMailbox>[],
  { table }: Context,
): Promise<Map<string, string>> {
  const rows = await readAcross(sources, 0, searchLimit);
  const ids = [...new Set(rows.map(({ domain_id }) => domain_id))];
  return new Map((await domainsAmong(table, accountId, ids)).map(({ id, name }) => [id, name]));
}

async function byAddress(
  accountId: string,
  search: string,
  { domain, workspace_id }: Omit<MailboxFilter, "search">,
  { skip, take }: { skip: number; take: number },
  { table, permissions }: Context,
): Promise<{ rows: StoredMailbox[]; total: number }> {
  const found = await mailboxByRef(table, accountId, search);
  const isIn =
    found !== undefined &&
    covers(permissions, "mailbox.view", scopesOfMailbox(found)) &&
    (domain === undefined || domain === found.domain.name || domain === found.domain.id) &&
    (workspace_id === undefined || workspace_id === found.domain.workspace_id);
  const rows = isIn ? [found.mailbox] : [];
  return { rows: rows.slice(skip, skip + take), total: rows.length };
}

/** All mailboxes that the principal may see: of the account, of one domain, or of a workspace's domains. */
async function sourcesOf(
  accountId: string,
  { domain: ref, workspace_id }: Omit<MailboxFilter, "search">,
  context: Context,
): Promise<Source<StoredMailbox>[]> {
  const { table, permissions } = context;
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    const isIn = domain && (workspace_id === undefined || domain.workspace_id === workspace_id);
    if (!isIn) return [];
    const isSeen = covers(permissions, "mailbox.view", scopesOfDomain(domain));
    return isSeen ? domainSources(table, accountId, [domain]) : [await singleSource(accountId, [domain], context)];
  }
  const isAll = covers(permissions, "mailbox.view", []);
  if (isAll && workspace_id === undefined) return [await accountSource(table, accountId)];
  const domains = await visibleDomains(accountId, "mailbox.view", domainLimit, context, workspace_id);
  if (!domains) throw tooMany();
  return [
    ...(await domainSources(table, accountId, domains)),
    ...(isAll ? [] : [await singleSource(accountId, undefined, context, workspace_id)]),
  ];
}

const tooMany = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["query", "domain"],
      msg: `These are the mailboxes of more than ${domainLimit.toLocaleString("en-US")} domains: name one`,
      type: "too_broad",
    },
  ]);

const parsed = (rows: readonly (Item | undefined)[]): StoredMailbox[] =>
  rows.flatMap((row) => (row ? [StoredMailbox.parse(row)] : []));

async function accountSource(table: Reader, accountId: string): Promise<Source<StoredMailbox>> {
  const list = mailboxesOf(accountId);
  const [head] = await readHeads(table, [list]);
  return {
    total: head?.live ?? 0,
    read: async (skip, take) => parsed((await readRows(table, list, { skip, take })).rows),
  };
}

const Reference = z.object({ mailbox_id: z.string() });

/** The mailboxes of domains, one domain after the other. Their heads are read together. */
async function domainSources(
  table: Reader,
  accountId: string,
  domains: readonly StoredDomain[],
): Promise<Source<StoredMailbox>[]> {
  const lists = domains.map(({ id }) => mailboxesIn(accountId, id));
  const heads = await readHeads(table, lists);
  return lists.map((list, index) => ({
    total: heads[index]?.live ?? 0,
    read: async (skip, take) => {
      const { rows } = await readRows(table, list, { skip, take });
      const ids = rows.map((row) => Reference.parse(row).mailbox_id);
      return parsed(await table.getMany(ids.map((id) => mailboxKey(accountId, id))));
    },
  }));
}

/** The mailboxes that grants name one by one, where nothing wider covers them. */
async function singleSource(
  accountId: string,
  among: readonly StoredDomain[] | undefined,
  { table, permissions }: Context,
  workspaceId?: string,
): Promise<Source<StoredMailbox>> {
  const ids = scopesHeld(permissions, "mailbox.view", "mailbox");
  const named = ids === "all" ? [] : parsed(await table.getMany(ids.toSorted().map((id) => mailboxKey(accountId, id))));
  const domainIds = [...new Set(named.map(({ domain_id }) => domain_id))];
  const homes = new Map((among ?? (await domainsAmong(table, accountId, domainIds))).map((home) => [home.id, home]));
  const alone = named.filter(({ domain_id }) => {
    const home = homes.get(domain_id);
    return (
      home !== undefined &&
      !covers(permissions, "mailbox.view", scopesOfDomain(home)) &&
      (workspaceId === undefined || home.workspace_id === workspaceId)
    );
  });
  return { total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) };
}
