import { inParallel } from "../core/parallel.ts";
import { syncSoon } from "../domains/records/soon.ts";
import type { Context } from "../http/route.ts";

const atOnce = 5;

/** Brings the SPF records of the first few domains to the nameservers; those of the others are left to the worker. */
export async function syncFirst(accountId: string, domainIds: readonly string[], context: Context): Promise<void> {
  await inParallel(domainIds.slice(0, atOnce), atOnce, (id) => syncSoon({ account_id: accountId, id }, context));
}
