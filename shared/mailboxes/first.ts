import { readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { mailboxesReferred } from "./among.ts";
import { mailboxesIn, type StoredMailbox } from "./mailbox.ts";

/** The first mailboxes of a domain, oldest first. */
export async function firstMailboxes(
  table: Reader,
  accountId: string,
  domainId: string,
  take: number,
): Promise<StoredMailbox[]> {
  const { rows } = await readRows(table, mailboxesIn(accountId, domainId), { skip: 0, take });
  return mailboxesReferred(table, accountId, rows);
}
