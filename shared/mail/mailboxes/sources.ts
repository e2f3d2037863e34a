import { scopesHeld } from "../../auth/permissions.ts";
import type { Source } from "../../core/sources.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import type { Context } from "../../http/route.ts";
import type { Moment } from "../../table/moment.ts";
import type { Reader } from "../../table/table.ts";
import { mailboxesNamed, mailboxesOfRows, mailboxesReferred } from "./among.ts";
import type { FoundMailbox } from "./find.ts";
import { mailboxesIn, mailboxesOf, type StoredMailbox } from "./mailbox.ts";

/** All mailboxes of an account. */
export const accountSources = (moment: Moment, accountId: string): Promise<Source<StoredMailbox>[]> =>
  moment.open([{ list: mailboxesOf(accountId), resolve: async (rows) => mailboxesOfRows(rows) }]);

/** The mailboxes of domains, one domain after the other. */
export const domainSources = (
  moment: Moment,
  table: Reader,
  accountId: string,
  domains: readonly Pick<StoredDomain, "id">[],
): Promise<Source<StoredMailbox>[]> =>
  moment.open(
    domains.map(({ id }) => ({
      list: mailboxesIn(accountId, id),
      resolve: (rows) => mailboxesReferred(table, accountId, rows),
    })),
  );

/** The mailboxes that grants name one by one, where nothing wider covers them: no source where grants name none. */
export async function singleSources(
  accountId: string,
  among: readonly StoredDomain[] | undefined,
  context: Context,
  workspaceId?: string,
): Promise<Source<StoredMailbox>[]> {
  const ids = scopesHeld(context.permissions, "mailbox.view", "mailbox");
  if (ids === "all" || ids.length === 0) return [];
  const named = await mailboxesNamed(accountId, "mailbox.view", context, among);
  const isIn = ({ domain }: FoundMailbox): boolean => workspaceId === undefined || domain.workspace_id === workspaceId;
  const alone = named.filter(isIn).map(({ mailbox }) => mailbox);
  return [{ total: alone.length, read: async (skip, take) => alone.slice(skip, skip + take) }];
}
