import * as z from "zod";

import type { Capability } from "../../auth/capabilities.ts";
import { covers, scopesHeld, type Permissions } from "../../auth/permissions.ts";
import { domainsAmong } from "../../domains/among.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { scopesOfDomain } from "../../domains/find.ts";
import type { Reader } from "../../table/table.ts";
import type { Item } from "../../table/writes.ts";
import type { FoundMailbox } from "./find.ts";
import { mailboxKey, StoredMailbox } from "./mailbox.ts";

/** The mailboxes of rows, without those that are not there. */
export const mailboxesOfRows = (rows: readonly (Item | undefined)[]): StoredMailbox[] =>
  rows.flatMap((row) => (row ? [StoredMailbox.parse(row)] : []));

/** The mailboxes with these ids that exist, in the order of the ids. */
export async function mailboxesAmong(
  table: Reader,
  accountId: string,
  ids: readonly string[],
): Promise<StoredMailbox[]> {
  const wanted = new Set(ids);
  const found = mailboxesOfRows(await table.getMany(ids.map((id) => mailboxKey(accountId, id))));
  return found.filter(({ id }) => wanted.has(id));
}

const Reference = z.object({ mailbox_id: z.string() });

/** The mailboxes that rows of a domain's list stand for, in their order. */
export const mailboxesReferred = (table: Reader, accountId: string, rows: readonly Item[]): Promise<StoredMailbox[]> =>
  mailboxesAmong(
    table,
    accountId,
    rows.map((row) => Reference.parse(row).mailbox_id),
  );

/**
 * The mailboxes that grants of a capability name one by one and nothing wider covers, with their domains: those of
 * `among`, or whichever they are.
 */
export async function mailboxesNamed(
  accountId: string,
  capability: Capability,
  { table, permissions }: { table: Reader; permissions: Permissions },
  among?: readonly StoredDomain[],
): Promise<FoundMailbox[]> {
  const ids = scopesHeld(permissions, capability, "mailbox");
  const named = ids === "all" ? [] : await mailboxesAmong(table, accountId, ids.toSorted());
  const domainIds = [...new Set(named.map(({ domain_id }) => domain_id))];
  const homes = new Map((among ?? (await domainsAmong(table, accountId, domainIds))).map((home) => [home.id, home]));
  return named.flatMap((mailbox) => {
    const domain = homes.get(mailbox.domain_id);
    return domain && !covers(permissions, capability, scopesOfDomain(domain)) ? [{ mailbox, domain }] : [];
  });
}
