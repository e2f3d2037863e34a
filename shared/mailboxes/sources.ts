import * as z from "zod";

import { covers, scopesHeld } from "../auth/permissions.ts";
import { domainsAmong } from "../domains/among.ts";
import type { StoredDomain } from "../domains/domain.ts";
import { scopesOfDomain } from "../domains/find.ts";
import type { Context } from "../route.ts";
import type { Source } from "../sources.ts";
import { readHeads, readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { mailboxesIn, mailboxesOf, mailboxKey, StoredMailbox } from "./mailbox.ts";

const parsed = (rows: readonly (Item | undefined)[]): StoredMailbox[] =>
  rows.flatMap((row) => (row ? [StoredMailbox.parse(row)] : []));

/** All mailboxes of an account. */
export async function accountSource(table: Reader, accountId: string): Promise<Source<StoredMailbox>> {
  const list = mailboxesOf(accountId);
  const [head] = await readHeads(table, [list]);
  return {
    total: head?.live ?? 0,
    read: async (skip, take) => parsed((await readRows(table, list, { skip, take })).rows),
  };
}

const Reference = z.object({ mailbox_id: z.string() });

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
      const ids = rows.map((row) => Reference.parse(row).mailbox_id);
      return parsed(await table.getMany(ids.map((id) => mailboxKey(accountId, id))));
    },
  }));
}

/** The mailboxes that grants name one by one, where nothing wider covers them. */
export async function singleSource(
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
