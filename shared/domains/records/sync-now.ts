import type { Context } from "../../http/route.ts";
import type { StoredDomain } from "../domain.ts";
import type { StoredZone } from "../zone.ts";
import { zoneWork } from "./services.ts";
import { type DnsRecord, type StoredRecord, recordView } from "./stored-record.ts";
import { syncZone } from "./sync.ts";

/**
 * Brings a zone up to what was just committed, and answers it as it is then. Whatever comes in the way is not the
 * caller's concern any more: what is committed is due, and the worker does it.
 */
export async function syncSoon(
  { account_id, id }: { account_id: string; id: string },
  { log }: Pick<Context, "log">,
): Promise<StoredZone | undefined> {
  try {
    return await syncZone(account_id, id, zoneWork("sync_zone"));
  } catch (error) {
    log.error("zone not brought up to date", { domain_id: id, reason: String(error) });
    return undefined;
  }
}

/** A record that was just written, as it is once the nameservers were told: `pending` when they do not have it yet. */
export const shownOnceSynced = async (
  record: StoredRecord,
  domain: StoredDomain,
  context: Context,
): Promise<DnsRecord> => recordView(record, await syncSoon(domain, context));
