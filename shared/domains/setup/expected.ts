import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { Dkim, dkimKey } from "../records/dkim-keys.ts";
import type { ParsedRecord } from "../records/record.ts";
import { systemRecords } from "../records/system-records.ts";
import { sendersOf } from "./spf.ts";

/** The records a domain has to have for its mail to work; none before it has a key of its own. */
export async function expectedRecords(table: Reader, domain: StoredDomain): Promise<ParsedRecord[] | undefined> {
  const [dkim, senders] = await Promise.all([
    table.get(dkimKey(domain.account_id, domain.id), Dkim),
    sendersOf(table, domain),
  ]);
  return dkim && systemRecords(domain, dkim, senders);
}
