import type { ParsedRecord } from "../dns-records/record.ts";
import type { Reader } from "../table/table.ts";
import { Dkim, dkimKey } from "./dkim.ts";
import type { StoredDomain } from "./domain.ts";
import { sendersOf } from "./spf.ts";
import { systemRecords } from "./system-records.ts";

/** The records a domain has to have for its mail to work; none before it has a key of its own. */
export async function expectedRecords(table: Reader, domain: StoredDomain): Promise<ParsedRecord[] | undefined> {
  const [dkim, senders] = await Promise.all([
    table.get(dkimKey(domain.account_id, domain.id), Dkim),
    sendersOf(table, domain),
  ]);
  return dkim && systemRecords(domain, dkim, senders);
}
