import { idWithOrdinal } from "../../shared/core/ids.ts";
import { ipsOf, type StoredIp } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { mailboxesOf } from "../../shared/mail/mailboxes/mailbox.ts";
import { appendRows, readList } from "../../shared/table/ranked-list.ts";
import type { Table } from "../../shared/table/table.ts";

/** Usage to add to an account. By default, a dedicated IP was claimed long ago and is charged by the day. */
export type Usage = { mailboxes?: number; dedicated_ips?: number; created_at?: string; paid_until?: string };

const longAgo = "2020-01-01T00:00:00.000Z";

function managedIp(
  accountId: string,
  ordinal: number,
  { created_at = longAgo, paid_until = longAgo }: Usage,
): StoredIp {
  return {
    id: idWithOrdinal(ordinal),
    account_id: accountId,
    name: "An IP",
    type: "managed",
    status: "active",
    status_reason: null,
    asn: null,
    country_code: null,
    addresses: [],
    domain_count: 0,
    created_at,
    updated_at: created_at,
    paid_until,
    due_at: null,
    failures: 0,
    version: 1,
  };
}

/** Adds usage that an account pays by the day. For mailboxes, only their count is stored. */
export async function addUsage(table: Table, accountId: string, usage: Usage): Promise<void> {
  const { mailboxes = 0, dedicated_ips = 0 } = usage;
  const { partition: PK, name } = mailboxesOf(accountId);
  const add = { next: mailboxes, live: mailboxes, version: 1 };
  if (mailboxes > 0) await table.attempt({ update: { PK, SK: `LIST#${name}#HEAD` }, add });
  if (dedicated_ips === 0) return;
  await table.commit(async () => {
    const { state } = await readList(table, ipsOf(accountId));
    const rows = Array.from({ length: dedicated_ips }, (_, index) => managedIp(accountId, state.next + index, usage));
    return { value: undefined, writes: appendRows(state, rows) };
  });
}
