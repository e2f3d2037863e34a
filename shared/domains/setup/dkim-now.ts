import { clock } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import { tableHere } from "../../http/worker.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { Domain } from "../domain.ts";
import { ensureDkim } from "../records/dkim-keys.ts";

/**
 * Makes the DKIM key of an external domain after a commit, so that the customer can publish the key's record at once. A
 * failure is only logged, because the worker makes a missing key later.
 */
export async function makeDkimNow(
  accountId: string,
  { id, dns_mode }: Pick<Domain, "id" | "dns_mode">,
  { log }: Pick<Context, "log">,
): Promise<void> {
  if (dns_mode === "hosted") return;
  try {
    await ensureDkim({ account_id: accountId, id }, { table: tableHere(), secrets: secretsHere(), now: clock });
  } catch (error) {
    log.error("no DKIM key", { domain_id: id, reason: String(error) });
  }
}
