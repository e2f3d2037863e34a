import type { Context } from "../../http/route.ts";
import type { StoredZone } from "../zone.ts";
import { zoneWork } from "./services.ts";
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
