import type { Reader } from "../../table/table.ts";
import type { StoredDomain } from "../domain.ts";
import { parsedOf } from "./plan.ts";
import { recordsIn } from "./stored-record.ts";
import { writeZoneFile } from "./zone-file.ts";

/** A domain's records as a zone file, by name and type. */
export async function exportRecords({ account_id, id, name, nameservers }: StoredDomain, table: Reader, now: Date) {
  const records = (await recordsIn(table, account_id, id)).map(parsedOf);
  return {
    domain: name,
    record_count: records.length,
    zone_file: writeZoneFile(records, name, { nameservers, exportedAt: now }),
  };
}
