import * as z from "zod";

import { readRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import { mailboxesIn, mailboxKey, StoredMailbox } from "./mailbox.ts";

const Reference = z.object({ mailbox_id: z.string() });

/** The first mailboxes of a domain, oldest first. */
export async function firstMailboxes(
  table: Reader,
  accountId: string,
  domainId: string,
  take: number,
): Promise<StoredMailbox[]> {
  const { rows } = await readRows(table, mailboxesIn(accountId, domainId), { skip: 0, take });
  const ids = rows.map((row) => Reference.parse(row).mailbox_id);
  const found = await table.getMany(ids.map((id) => mailboxKey(accountId, id)));
  return found.flatMap((row) => (row ? [StoredMailbox.parse(row)] : []));
}
