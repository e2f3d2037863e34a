import { isLive } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import { notFound } from "../core/errors.ts";
import { type PageQuery, type RowSource, spanOf } from "../core/page.ts";
import { atOneMoment, type Moment } from "../table/moment.ts";
import { aheadOfRows, aheadOfList } from "../table/ranked-list.ts";
import { readerAhead, type Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import {
  AccountPointer,
  AccountStatus,
  StoredAccount,
  accountKey,
  accountsMatching,
  accountsOfUser,
} from "./account.ts";
import {
  accessKey,
  accountOfGroup,
  claimedGroups,
  GroupsRecord,
  groupsKey,
  standingOf,
  StoredUser,
  superAdminOf,
  withAncestors,
  userKey,
} from "./standing.ts";

type Filter = { client_id?: string | undefined; status?: string | undefined };
type VisibleAccounts = { items: StoredAccount[]; total: number };

/** Reads an account. Throws 404 if the account does not exist. */
export async function getAccount(table: Reader, accountId: string): Promise<StoredAccount> {
  const account = await table.get(accountKey(accountId), StoredAccount);
  if (!account) throw notFound();
  return account;
}

/**
 * A page of the accounts that the principal may see.
 * - A super admin: all accounts, oldest first. With a filter by status, the accounts are in the order in which they got
 *   the status. The page costs the same with every filter.
 * - Another user: first the accounts with an access record of the user, in the order in which the user got access. Then
 *   the accounts to which only the groups in the token give access, sorted by id. A page with a filter reads all
 *   accounts of the user. Every page reads all accounts of the user while the table still has an ended access record of
 *   the user.
 * - A service account: its own account, if the service account has a grant, ownership or a group there. The account
 *   must match the filter.
 */
export async function visibleAccounts(
  table: Reader,
  principal: Principal,
  filter: Filter,
  page: PageQuery,
  now: Date,
): Promise<VisibleAccounts> {
  const { skip, take } = spanOf(page);
  if (filter.status !== undefined && !AccountStatus.safeParse(filter.status).success) return { items: [], total: 0 };
  const isFiltered = filter.client_id !== undefined || filter.status !== undefined;
  if (principal.account_id !== undefined) return filteredPage(await ownAccount(table, principal, now), filter, page);
  const reader = readerAhead(table, aheadOfAccounts(table, principal, filter, { skip, take }));
  const [superAdmin, ended] = await Promise.all([
    superAdminOf(reader, principal, now),
    endedAccounts(reader, principal, now),
  ]);
  return atOneMoment(reader, async (moment) => {
    if (superAdmin) {
      const { rows, total } = await moment.page(await matchingSources(moment, table, filter), skip, take);
      return { items: rows, total };
    }
    const { own, claimed } = await ownSources(moment, table, principal, ended);
    const sources = [...own, ...claimed];
    if (ended.size > 0) {
      const [listed, others] = [await moment.page(own, 0, Infinity), await moment.page(claimed, 0, Infinity)];
      const live = listed.rows.filter(({ id }) => !ended.has(id));
      return filteredPage([...live, ...others.rows], filter, page);
    }
    if (isFiltered) return filteredPage((await moment.page(sources, 0, Infinity)).rows, filter, page);
    const { rows, total } = await moment.page(sources, skip, take);
    return { items: rows, total };
  });
}

/**
 * The list that will probably be read. A principal counts as a super admin if this process has seen the principal as a
 * super admin before.
 */
function aheadOfAccounts(
  { seen }: Reader,
  principal: Principal,
  filter: Filter,
  span: { skip: number; take: number },
): Ahead {
  // Only the items of super admins are noted under this key.
  if (seen?.recall(userKey(principal.id))) return aheadOfRows(accountsMatching(filter), span);
  const isFiltered = filter.client_id !== undefined || filter.status !== undefined;
  return isFiltered ? aheadOfList(accountsOfUser(principal.id)) : aheadOfRows(accountsOfUser(principal.id), span);
}

/** All accounts that match the filter. If the status of an account changes during the read, the read starts again. */
const matchingSources = (moment: Moment, table: Reader, filter: Filter): Promise<RowSource<StoredAccount>[]> =>
  moment.open([
    {
      list: accountsMatching(filter),
      resolve: async (rows) => (await readAccounts(table, rows)).filter((account) => isMatch(account, filter)),
    },
  ]);

/** The accounts in which all access of the user has ended, and whose access record no worker has deleted yet. */
async function endedAccounts(table: Reader, { id }: Principal, now: Date): Promise<ReadonlySet<string>> {
  const ends = Object.entries((await table.get(userKey(id), StoredUser))?.access_ends ?? {});
  return new Set(ends.filter(([, end]) => !isLive(end, now.toISOString())).map(([accountId]) => accountId));
}

/**
 * The accounts of a user who is not a super admin. `own` are the accounts with an access record, even if the access has
 * ended. `claimed` are the accounts to which only the groups in the token give access.
 */
async function ownSources(
  moment: Moment,
  table: Reader,
  principal: Principal,
  ended: ReadonlySet<string>,
): Promise<{ own: RowSource<StoredAccount>[]; claimed: RowSource<StoredAccount>[] }> {
  const own = await moment.open([
    { list: accountsOfUser(principal.id), resolve: (rows: unknown[]) => readAccounts(table, rows) },
  ]);
  if (principal.groups.length === 0) return { own, claimed: [] };
  const claimed = await claimedAccounts(table, principal, ended);
  const read = (skip: number, take: number) => readAccounts(table, claimed.slice(skip, skip + take));
  return { own, claimed: [{ total: claimed.length, read }] };
}

/** The accounts with a group that the token names, without accounts that have a live access record of the user. */
async function claimedAccounts(
  table: Reader,
  principal: Principal,
  ended: ReadonlySet<string>,
): Promise<{ account_id: string }[]> {
  const ids = [...new Set(principal.groups.flatMap((name) => accountOfGroup(name) ?? []))].toSorted();
  const records = await table.getMany(ids.map((id) => accessKey(id, principal)));
  const groups = await table.getMany(ids.map((id) => groupsKey(id)));
  return ids.flatMap((id, index) => {
    const record = groups[index] && GroupsRecord.parse(groups[index]);
    const isMember = record !== undefined && withAncestors(record, claimedGroups(principal, id)).length > 0;
    return isMember && (!records[index] || ended.has(id)) ? [{ account_id: id }] : [];
  });
}

/** The account of a service account. Empty if the service account has no access any more. */
async function ownAccount(table: Reader, principal: Principal, now: Date): Promise<StoredAccount[]> {
  const accountId = principal.account_id ?? "";
  const [{ permissions }, [item]] = await Promise.all([
    standingOf(table, principal, accountId, false, now),
    table.getMany([accountKey(accountId)]),
  ]);
  return permissions.member && item ? [StoredAccount.parse(item)] : [];
}

async function readAccounts(table: Reader, pointers: readonly unknown[]): Promise<StoredAccount[]> {
  const items = await table.getMany(pointers.map((pointer) => accountKey(AccountPointer.parse(pointer).account_id)));
  return items.map((item) => StoredAccount.parse(item));
}

function filteredPage(accounts: StoredAccount[], filter: Filter, page: PageQuery): VisibleAccounts {
  const { skip, take } = spanOf(page);
  const matching = accounts.filter((account) => isMatch(account, filter));
  return { items: matching.slice(skip, skip + take), total: matching.length };
}

const isMatch = ({ client, status }: StoredAccount, filter: Filter): boolean =>
  (filter.client_id === undefined || client.id === filter.client_id) &&
  (filter.status === undefined || status === filter.status);
