import { later } from "../../core/time.ts";
import type { StoredDomain } from "../domain.ts";
import { advanceRequest, skewMs, storeProgress, type RequestKind } from "../setup/registrar-request.ts";
import type { DomainWork } from "../setup/work.ts";
import { getBatch } from "./batch.ts";
import { type Bought, completePurchase, isRunning, releasedAt } from "./conclude.ts";

/** The registration of a name that was bought. */
const registering: RequestKind<Bought> = {
  operation: "register",
  isOpen: isRunning,
  progress: ({ failures: looks, purchase }) => ({ ...purchase, looks }),
  members: ({ purchase }, { looks: failures = 0, ...progress }) => ({
    purchase: { ...purchase, ...progress },
    failures,
  }),
  send: async ({ account_id, name, purchase }, work) => {
    const batch = await getBatch(work.table, account_id, purchase.batch_id);
    if (!batch) throw new Error(`The purchase of ${name} has no contact any more.`);
    return work.registrar.register({ name, contact: batch.contact });
  },
  // A former registration that was released just before this purchase is gone by the time the effect is looked for. So
  // a registration found here is ours.
  effect: ({ name }, work) => work.registrar.registration(name),
  conclude: completePurchase,
};

/**
 * How long a released name rests before it is registered again, in milliseconds. By then, requests made for the former
 * owner have arrived, and the registrar's records of the former registration are older than the period that is
 * searched.
 */
const restMs = skewMs + 60_000;

/** Advances the registration of a name by all steps that are possible at once. The rest stays due. */
export async function advanceRegistration(domain: StoredDomain, work: DomainWork): Promise<void> {
  if (isRunning(domain) && domain.purchase.stage === "held") {
    const released = await releasedAt(work.table, domain.name);
    const restsUntil = later(released ?? new Date(0), restMs);
    if (restsUntil > work.now().toISOString()) {
      await storeProgress(registering, domain, { due_at: restsUntil }, work);
      return;
    }
  }
  await advanceRequest(registering, domain, work);
}
