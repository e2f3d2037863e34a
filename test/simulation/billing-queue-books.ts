import { StoredAccount } from "../../shared/accounts/account.ts";
import { billingQueue, nextClosing } from "../../shared/billing/due.ts";
import { Balance } from "../../shared/ledger/balance.ts";
import { balanceKey } from "../../shared/ledger/ledger.ts";
import { BillingState } from "../../shared/wallet/state.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import type { Change } from "../support/memory-table.ts";
import { mustHold, type Invariant } from "./world.ts";

/**
 * The rules of the queue of days that the worker must bill, after every commit:
 * - The queue has the next day of every open account. It may also have days that are billed already. The worker removes
 *   these.
 * - The queue has no day of a closed account, unless amounts were held when the account was closed. Then the account
 *   stays in the queue at least until nothing is held. After that, the worker removes it.
 */
export function queueInvariant(accountId: string): Invariant {
  const queued = new Set<string>();
  let account: StoredAccount | undefined;
  let state: BillingState | undefined;
  let held = 0;
  /** Whether amounts were held at the closing, and the account has been in the queue since the closing. */
  let waits = false;
  const wallet = balanceKey(walletOf(accountId), "wallet");
  const note = ({ key, after }: Change): void => {
    if (key.PK.startsWith(`${billingQueue.name}#`) && key.SK.endsWith(`#${accountId}`)) {
      const at = key.SK.slice(0, -accountId.length - 1);
      if (after) queued.add(at);
      else queued.delete(at);
    }
    if (key.PK === wallet.PK && key.SK === wallet.SK) held = Balance.parse(after).debits_pending;
    if (key.PK !== `ACCOUNT#${accountId}`) return;
    if (key.SK === "ACCOUNT") account = StoredAccount.parse(after);
    if (key.SK === "BILLING") state = BillingState.parse(after);
  };
  const check = (changes: readonly Change[]): void => {
    const wasOpen = account?.status !== "closed";
    changes.forEach(note);
    if (!account) return;
    if (account.status === "closed" && wasOpen) waits = held > 0;
    mustHold(
      !waits || held === 0 || queued.size > 0,
      () => `${accountId} is closed with held amounts, and not in the queue`,
    );
    if (queued.size === 0) waits = false;
    const next = nextClosing(account, state);
    mustHold(next === null || queued.has(next), () => `${accountId} is not in the queue for ${next}`);
    mustHold(next !== null || queued.size === 0 || waits, () => `${accountId} is closed, and in the queue`);
  };
  return { name: `the queue of ${accountId}`, check };
}
