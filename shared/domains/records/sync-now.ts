import { createLog } from "../../core/log.ts";
import { clock } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { runtime } from "../../http/runtime.ts";
import { tableHere } from "../../http/worker.ts";
import { dns } from "../../providers/dns/factory.ts";
import type { StoredDomain } from "../domain.ts";
import type { StoredZone } from "../zone.ts";
import type { ChangedRecord } from "./add.ts";
import { type DnsRecord, recordView } from "./stored-record.ts";
import { syncZone, type ZoneWork } from "./sync.ts";

/** The services for syncing zones in this process. Reads the environment when it is called, not at import. */
export function zoneWork(name: string): ZoneWork {
  const { env } = runtime();
  const table = tableHere();
  return { table, dns: dns(table), now: clock, log: createLog(env.LOG_LEVEL, { work: name }, env.LOG_FORMAT) };
}

/**
 * Syncs a zone after a commit. Returns the last known state of the zone. Undefined if the sync fails, or if the domain
 * has no zone. A failure is only logged, because the commit has made the zone due, and the worker will sync it.
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
 * The API view of a new or changed record after a sync of its zone. The record is `pending` if the nameservers do not
 * have the record yet. The zone is synced only if the nameservers should have the zone (`isServed`).
 */
export const viewAfterSync = async (
  { record, isServed }: ChangedRecord,
  domain: StoredDomain,
  context: Context,
): Promise<DnsRecord> => recordView(record, isServed ? await syncNow(domain, context) : undefined);
