import * as z from "zod";

import type { Capability } from "../../auth/capabilities.ts";
import { type Permissions, covers, idsHeld } from "../../auth/permissions.ts";
import { ordinalOf } from "../../core/ids.ts";
import type { RowSource } from "../../core/page.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById, domainsByIds, scopesOfDomain } from "../../domains/find.ts";
import type { Context } from "../../http/route.ts";
import { type Moment, atOneMoment } from "../../table/moment.ts";
import { type ListState, readHeads, readNear } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Item } from "../../table/writes.ts";
import type { FoundMailbox } from "./find.ts";
import { StoredMailbox, mailboxKey, mailboxesIn, mailboxesOf } from "./mailbox.ts";
import { headIn, rebuiltList } from "./plan.ts";

/** Parses rows into mailboxes, and leaves out missing rows. */
export const mailboxesOfRows = (rows: readonly (Item | undefined)[]): StoredMailbox[] =>
  rows.flatMap((row) => (row ? [StoredMailbox.parse(row)] : []));

/** The mailboxes with these ids that exist, in the order of the ids. */
export async function mailboxesByIds(
  table: Reader,
  accountId: string,
  ids: readonly string[],
): Promise<StoredMailbox[]> {
  const wanted = new Set(ids);
  const found = mailboxesOfRows(await table.getMany(ids.map((id) => mailboxKey(accountId, id))));
  return found.filter(({ id }) => wanted.has(id));
}

const Reference = z.object({ mailbox_id: z.string() });

/** The mailboxes that the rows of a domain's list refer to, in the order of the rows. */
export async function mailboxesReferred(
  table: Reader,
  accountId: string,
  rows: readonly Item[],
): Promise<StoredMailbox[]> {
  const ids = rows.map((row) => Reference.parse(row).mailbox_id);
  const found = await readNear(
    table,
    mailboxesOf(accountId),
    ids.flatMap((id) => ordinalOf(id) ?? []),
  );
  const byId = new Map(found.map((row) => [row["id"], row]));
  return mailboxesOfRows(ids.map((id) => byId.get(id)));
}

/**
 * The mailboxes for which the caller has a direct grant of a capability and no wider grant, with their domains. With
 * `among`, only the mailboxes in these domains.
 */
export async function mailboxesWithDirectGrant(
  accountId: string,
  capability: Capability,
  { table, permissions }: { table: Reader; permissions: Permissions },
  among?: readonly StoredDomain[],
): Promise<FoundMailbox[]> {
  const ids = idsHeld(permissions, capability, "mailbox");
  const named = ids === "all" ? [] : await mailboxesByIds(table, accountId, ids.toSorted());
  const domainIds = [...new Set(named.map(({ domain_id }) => domain_id))];
  const homes = new Map((among ?? (await domainsByIds(table, accountId, domainIds))).map((home) => [home.id, home]));
  return named.flatMap((mailbox) => {
    const domain = homes.get(mailbox.domain_id);
    return domain && !covers(permissions, capability, scopesOfDomain(domain)) ? [{ mailbox, domain }] : [];
  });
}

/** The source of all mailboxes of an account. */
export const accountSources = (moment: Moment, accountId: string): Promise<RowSource<StoredMailbox>[]> =>
  moment.open([{ list: mailboxesOf(accountId), resolve: async (rows) => mailboxesOfRows(rows) }]);

/**
 * The sources of the mailboxes of domains: one source for each domain, in the order of the domains. `since` is the head
 * of the account's list of mailboxes, if this head was read before the domains. While this head does not change, the
 * heads in the domains do not change either.
 */
export async function domainSources(
  moment: Moment,
  table: Reader,
  accountId: string,
  domains: readonly StoredDomain[],
  since?: ListState,
): Promise<RowSource<StoredMailbox>[]> {
  const resolve = (rows: readonly Item[]) => mailboxesReferred(table, accountId, rows);
  // The head of a domain's list is in the domain, or it is an item of its own.
  const withHead = domains.filter((domain) => headIn(domain));
  const withoutHead = domains.filter((domain) => !headIn(domain));
  const lists = withHead.flatMap((domain) => {
    const head = headIn(domain);
    return head ? [{ state: { list: mailboxesIn(accountId, domain.id), ...head, bitmaps: new Map() }, resolve }] : [];
  });
  const isSame = async (): Promise<boolean> => {
    const [current] = await readHeads(table, [mailboxesOf(accountId)]);
    if (since && current?.version === since.version) return true;
    const ids = withHead.map(({ id }) => id);
    const present = await domainsByIds(table, accountId, ids);
    return (
      present.length === ids.length &&
      present.every(({ mailbox_next, mailbox_count, mailbox_returned }, index) => {
        const before = withHead[index];
        const isUnchanged = mailbox_next === before?.mailbox_next && mailbox_count === before?.mailbox_count;
        return isUnchanged && mailbox_returned === before?.mailbox_returned;
      })
    );
  };
  const held = moment.hold(lists, isSame);
  const opened = await moment.open(withoutHead.map(({ id }) => ({ list: mailboxesIn(accountId, id), resolve })));
  const complete = withoutHead.map(async (domain, index) => {
    const source = opened[index];
    if (source?.total !== 0 || domain.mailbox_count === 0) return source;
    // The domain has mailboxes, and its list looks empty: the list has lost its head.
    return moment.hold([{ state: await rebuiltList(table, domain), resolve }], async () => true)[0];
  });
  const others = await Promise.all(complete);
  // `held` and `others` are each in the order of the domains, so taking their first sources restores this order.
  return domains.flatMap((domain) => (headIn(domain) ? held.shift() : others.shift()) ?? []);
}

/**
 * The source of the mailboxes for which the caller has a direct grant and no wider grant. With `among`, only the
 * mailboxes in these domains; with `workspaceId`, only those in this workspace. There is no source if the caller has no
 * direct grant on a mailbox.
 */
export async function directGrantSources(
  accountId: string,
  among: readonly StoredDomain[] | undefined,
  context: Context,
  workspaceId?: string,
): Promise<RowSource<StoredMailbox>[]> {
  const ids = idsHeld(context.permissions, "mailbox.view", "mailbox");
  if (ids === "all" || ids.length === 0) return [];
  const named = await mailboxesWithDirectGrant(accountId, "mailbox.view", context, among);
  const isIn = ({ domain }: FoundMailbox): boolean => workspaceId === undefined || domain.workspace_id === workspaceId;
  const alone = named.filter(isIn).map(({ mailbox }) => mailbox);
  return [{ total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) }];
}

/** The first mailboxes of a domain, oldest first; none if the domain does not exist. */
export async function firstMailboxes(
  table: Reader,
  accountId: string,
  domainId: string,
  take: number,
): Promise<StoredMailbox[]> {
  const { rows } = await atOneMoment(table, async (moment) => {
    const domain = await domainById(table, accountId, domainId);
    return moment.page(domain ? await domainSources(moment, table, accountId, [domain]) : [], 0, take);
  });
  return rows;
}
