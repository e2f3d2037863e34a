import { domainKey } from "../../shared/domains/domain.ts";
import { domainById } from "../../shared/domains/find.ts";
import { advanceRegistration } from "../../shared/domains/purchase/registration.ts";
import { domainQueue } from "../../shared/domains/queues.ts";
import { advanceChecks } from "../../shared/domains/setup/check.ts";
import { advanceRelease } from "../../shared/domains/setup/detach.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { dueKey, forgetDue } from "../../shared/table/due.ts";

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
