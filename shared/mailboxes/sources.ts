import type { StoredDomain } from "../domains/domain.ts";
import type { Context } from "../route.ts";
import type { Source } from "../sources.ts";
import { readHeads, readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { mailboxesNamed, mailboxesOfRows, mailboxesReferred } from "./among.ts";
import type { FoundMailbox } from "./find.ts";
import { mailboxesIn, mailboxesOf, type StoredMailbox } from "./mailbox.ts";

/** All mailboxes of an account. */
export async function accountSource(table: Reader, accountId: string): Promise<Source<StoredMailbox>> {
  const list = mailboxesOf(accountId);
  const [head] = await readHeads(table, [list]);
  return {
    total: head?.live ?? 0,
    read: async (skip, take) => mailboxesOfRows((await readRows(table, list, { skip, take })).rows),
  };
}

/** The mailboxes of domains, one domain after the other. Their heads are read together. */
export async function domainSources(
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
      return mailboxesReferred(table, accountId, rows);
    },
  }));
}

/** The mailboxes that grants name one by one, where nothing wider covers them. */
export async function singleSource(
  accountId: string,
  among: readonly StoredDomain[] | undefined,
  context: Context,
  workspaceId?: string,
): Promise<Source<StoredMailbox>> {
  const named = await mailboxesNamed(accountId, "mailbox.view", context, among);
  const isIn = ({ domain }: FoundMailbox): boolean => workspaceId === undefined || domain.workspace_id === workspaceId;
  const alone = named.filter(isIn).map(({ mailbox }) => mailbox);
  return { total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) };
}
