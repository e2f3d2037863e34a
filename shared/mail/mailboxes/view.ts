import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { domainKey, type StoredDomain } from "../../domains/domain.ts";
import { domainsByIds } from "../../domains/find.ts";
import type { Seen } from "../../table/seen-items.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { workspaceKey, StoredWorkspace } from "../../workspaces/workspace.ts";
import { type Mailbox, mailboxesOf, type StoredMailbox } from "./mailbox.ts";

type DomainName = Pick<StoredDomain, "id" | "name">;

/** The API view of a mailbox, without its workspace. */
export const mailboxCore = (mailbox: StoredMailbox, domain: DomainName) => ({
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
  last_login_at: mailbox.last_login_at,
  created_at: mailbox.created_at,
  updated_at: mailbox.updated_at,
});

const Named = StoredWorkspace.pick({ id: true, name: true });

/**
 * The API views of mailboxes of one account. A mailbox whose domain was deleted meanwhile is left out. Takes two round
 * trips to the table.
 */
export async function mailboxViews(
  table: Reader,
  accountId: string,
  mailboxes: readonly StoredMailbox[],
): Promise<Mailbox[]> {
  const domainIds = [...new Set(mailboxes.map(({ domain_id }) => domain_id))];
  return mailboxViewsIn(await domainsByIds(table, accountId, domainIds), table, accountId, mailboxes);
}

/**
 * The API views of mailboxes of one account, with domains that were read before. A mailbox in none of these domains is
 * left out. Takes one round trip to the table.
 */
export async function mailboxViewsIn(
  inDomains: readonly StoredDomain[],
  table: Reader,
  accountId: string,
  mailboxes: readonly StoredMailbox[],
): Promise<Mailbox[]> {
  const domains = new Map(inDomains.map((domain) => [domain.id, domain]));
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

/** The most domains of a page that `notePlaces` notes. It notes nothing for a page with more domains. */
const notedDomains = 5;

/** The key under which a process notes the domains and workspaces of a page. The table has no item with this key. */
const placesKey = (accountId: string): Key => ({ PK: mailboxesOf(accountId).partition, SK: "MAILBOX_HOMES" });
const Places = z.object({ domains: z.array(Id), workspaces: z.array(Id) });

/** The items that the views of mailboxes in these domains and workspaces read. */
export const placeKeys = (accountId: string, { domains, workspaces }: z.output<typeof Places>): Key[] => [
  ...domains.map((id) => domainKey(accountId, id)),
  ...workspaces.map((id) => workspaceKey(accountId, id)),
];

/** The items that the views of a page probably read: the domains and workspaces of the last page of this process. */
export function seenPlaces(accountId: string, seen: Seen): Key[] {
  const places = Places.safeParse(seen.recall(placesKey(accountId))).data;
  return places ? placeKeys(accountId, places) : [];
}

/** Notes the domains and workspaces of a page for the next request, unless the page has many domains. */
export function notePlaces({ seen }: Reader, accountId: string, items: readonly Mailbox[]): void {
  const domains = [...new Set(items.map(({ domain_id }) => domain_id))];
  const workspaces = [...new Set(items.map(({ workspace_id }) => workspace_id))];
  if (domains.length > 0 && domains.length <= notedDomains)
    seen?.note({ ...placesKey(accountId), domains, workspaces });
}
