import * as z from "zod";

import type { StoredDomain } from "../../domains/domain.ts";
import { domainsByIds } from "../../domains/find.ts";
import type { Reader } from "../../table/table.ts";
import { workspaceKey, StoredWorkspace } from "../../workspaces/workspace.ts";
import type { Mailbox, StoredMailbox } from "./mailbox.ts";

type Home = Pick<StoredDomain, "id" | "name">;

/** The API view of a mailbox, without its workspace. */
export const mailboxCore = (mailbox: StoredMailbox, domain: Home) => ({
  id: mailbox.id,
  domain_id: domain.id,
  domain_name: domain.name,
  local_part: mailbox.local_part,
  primary_email: `${mailbox.local_part}@${domain.name}`,
  first_name: mailbox.first_name,
  last_name: mailbox.last_name,
  quota: { allowed: mailbox.quota, used: mailbox.used },
  aliases: mailbox.aliases.map((local) => ({ alias: `${local}@${domain.name}`, is_catch_all: local === "*" })),
  status: mailbox.status,
  created_at: mailbox.created_at,
  updated_at: mailbox.updated_at,
});

const Named = StoredWorkspace.pick({ id: true, name: true });

/**
 * The API views of mailboxes of one account. A mailbox whose domain was deleted meanwhile is left out. Takes two more
 * round trips.
 */
export async function mailboxViews(
  table: Reader,
  accountId: string,
  mailboxes: readonly StoredMailbox[],
): Promise<Mailbox[]> {
  const domainIds = [...new Set(mailboxes.map(({ domain_id }) => domain_id))];
  return mailboxViewsIn(await domainsByIds(table, accountId, domainIds), table, accountId, mailboxes);
}

/** Like `mailboxViews`, with domains that were read already. Takes one more round trip. */
export async function mailboxViewsIn(
  homes: readonly StoredDomain[],
  table: Reader,
  accountId: string,
  mailboxes: readonly StoredMailbox[],
): Promise<Mailbox[]> {
  const domains = new Map(homes.map((domain) => [domain.id, domain]));
  const workspaceIds = [...new Set([...domains.values()].map(({ workspace_id }) => workspace_id))];
  const rows = await table.getMany(workspaceIds.map((id) => workspaceKey(accountId, id)));
  const names = new Map(
    z
      .array(Named.optional())
      .parse(rows)
      .flatMap((row) => (row ? [[row.id, row.name] as const] : [])),
  );
  return mailboxes.flatMap((mailbox) => {
    const domain = domains.get(mailbox.domain_id);
    if (!domain) return [];
    const { workspace_id } = domain;
    return [{ ...mailboxCore(mailbox, domain), workspace_id, workspace_name: names.get(workspace_id) ?? "" }];
  });
}
