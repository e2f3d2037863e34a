import { StoredAccount } from "../../shared/accounts/account.ts";
import { billingQueue, nextClosing } from "../../shared/billing/due.ts";
import { BillingState } from "../../shared/wallet/state.ts";
import type { Change } from "../support/memory-table.ts";
import { mustHold, type Invariant } from "./world.ts";

/**
 * The queue has the next day of every account after every commit, and no day of a closed account. The queue may also
 * have days that are closed already. The worker removes these.
 */
export function queueInvariant(accountId: string): Invariant {
  const queued = new Set<string>();
  let account: StoredAccount | undefined;
  let state: BillingState | undefined;
  const note = ({ key, after }: Change): void => {
    if (key.PK.startsWith(`${billingQueue.name}#`) && key.SK.endsWith(`#${accountId}`)) {
      const at = key.SK.slice(0, -accountId.length - 1);
      if (after) queued.add(at);
      else queued.delete(at);
    }
    if (key.PK !== `ACCOUNT#${accountId}`) return;
    if (key.SK === "ACCOUNT") account = StoredAccount.parse(after);
    if (key.SK === "BILLING") state = BillingState.parse(after);
  };
  const check = (changes: readonly Change[]): void => {
    changes.forEach(note);
    if (!account) return;
    const next = nextClosing(account, state);
    mustHold(next === null || queued.has(next), () => `${accountId} is not in the queue for ${next}`);
    mustHold(next !== null || queued.size === 0, () => `${accountId} is closed, and in the queue`);
  };
  return { name: `the queue of ${accountId}`, check };
}
