import { atOneMoment } from "../../table/moment.ts";
import type { Reader } from "../../table/table.ts";
import type { StoredMailbox } from "./mailbox.ts";
import { domainSources } from "./sources.ts";

/** The first mailboxes of a domain, oldest first. */
export async function firstMailboxes(
  table: Reader,
  accountId: string,
  domainId: string,
  take: number,
): Promise<StoredMailbox[]> {
  const { rows } = await atOneMoment(table, async (moment) =>
    moment.page(await domainSources(moment, table, accountId, [{ id: domainId }]), 0, take),
  );
  return rows;
}
