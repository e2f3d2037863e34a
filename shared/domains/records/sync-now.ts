import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import type { StoredZone } from "../zone.ts";
import type { Changed } from "./add.ts";
import { zoneWork } from "./services.ts";
import { type DnsRecord, recordView } from "./stored-record.ts";
import { syncZone } from "./sync.ts";

/**
 * Syncs a zone after a commit and returns its new state; undefined if the sync fails. A failure is only logged, because
 * the zone is due already, and the worker will sync it.
 */
export async function syncNow(
  { account_id, id }: { account_id: string; id: string },
  { log }: Pick<Context, "log">,
): Promise<StoredZone | undefined> {
  try {
    return await syncZone(account_id, id, zoneWork("sync_zone"));
  } catch (error) {
    log.error("zone not synced", { domain_id: id, reason: String(error) });
    return undefined;
  }
}

/**
 * The API view of a new or changed record after a sync of its zone. It is `pending` if the nameservers do not have it
 * yet. A zone that the nameservers should not have is not synced.
 */
export const viewAfterSync = async (
  { record, isServed }: Changed,
  domain: StoredDomain,
  context: Context,
): Promise<DnsRecord> => recordView(record, isServed ? await syncNow(domain, context) : undefined);
