import type { Reader } from "../table/table.ts";
import { domainKey, StoredDomain } from "./domain.ts";

/** The domains with these ids that exist, in the order of the ids. */
export async function domainsAmong(table: Reader, accountId: string, ids: readonly string[]): Promise<StoredDomain[]> {
  const rows = await table.getMany(ids.map((id) => domainKey(accountId, id)));
  return rows.flatMap((row, index) => {
    const domain = row && StoredDomain.parse(row);
    return domain && domain.id === ids[index] ? [domain] : [];
  });
}
