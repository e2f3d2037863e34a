import { dueKey, forgetDue } from "../table/due.ts";
import { advanceChecks } from "./check.ts";
import { advanceRelease } from "./detach.ts";
import { domainKey } from "./domain.ts";
import { domainById } from "./find.ts";
import { domainQueue } from "./queues.ts";
import { advanceRegistration } from "./registration.ts";
import type { DomainWork } from "./work.ts";

/** Does what is due of a domain at an instant. Whatever fails stays due: it is taken up again. */
export async function advanceDomain(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const domain = await domainById(work.table, accountId, id);
  if (domain?.due_at !== at) return forget(accountId, id, at, work);
  switch (domain.status) {
    case "pending_registration":
      return advanceRegistration(domain, work);
    case "releasing":
      return advanceRelease(domain, work);
    case "pending_delegation":
    case "active":
    case "degraded":
    case "expired":
      return advanceChecks(domain, work);
    default:
      await work.table.attempt({ delete: dueKey(domainQueue, [accountId, id], at) });
  }
}

/** Takes an instant out of the queue at which a domain is not due any more. */
const forget = (accountId: string, id: string, at: string, { table }: DomainWork): Promise<void> =>
  forgetDue(table, dueKey(domainQueue, [accountId, id], at), async () => {
    const domain = await domainById(table, accountId, id);
    return {
      isDue: domain?.due_at === at,
      unchanged: { check: domainKey(accountId, id), if: domain ? { id, version: domain.version } : "absent" },
    };
  });
