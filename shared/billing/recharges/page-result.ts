import type { ChangePlan } from "../../changes/recorder.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import type { AccountBilling } from "../book.ts";
import { readSettings, settingsWrite, switchOffChanges, type StoredSettings } from "./auto-recharge.ts";
import { readRecharge, rechargeKey, type StoredRecharge } from "./stored-recharge.ts";

/**
 * Plans the end of a recharge after the page on which the payer confirms the payment has a result. If the page of
 * the last recharge was paid, the earlier failures no longer count, and the next recharge does not wait. Plans nothing
 * if the recharge does not exist, or if it was paid before.
 */
export async function planPageResult(
  table: Reader,
  { accountId, rechargeId }: { accountId: string; rechargeId: string | undefined },
  isPaid: boolean,
  now: Date,
): Promise<Write[]> {
  const recharge = rechargeId === undefined ? undefined : await readRecharge(table, accountId, rechargeId);
  if (!recharge || recharge.status === "succeeded" || recharge.status === "confirmed") return [];
  const { reason, action_url, ...rest } = recharge;
  const after: StoredRecharge = {
    ...rest,
    version: recharge.version + 1,
    ...(isPaid ? { status: "confirmed" } : { status: "failed", reason: "The payment was not made on its page." }),
  };
  return [
    { put: { ...rechargeKey(accountId, recharge.id), ...after }, if: { version: recharge.version } },
    ...(isPaid ? await forgetFailures(table, accountId, recharge.id, now) : []),
  ];
}

/**
 * The write that forgets the failures and the wait after them. None if no failure counts, or if another recharge has
 * begun since `rechargeId`.
 */
async function forgetFailures(table: Reader, accountId: string, rechargeId: string, now: Date): Promise<Write[]> {
  const { retry_at, ...rest } = await readSettings(table, accountId, dayOf(now));
  const hasNone = rest.failures === 0 || rest.last !== rechargeId;
  return hasNone ? [] : [settingsWrite(accountId, { ...rest, failures: 0 })];
}

/**
 * Plans to switch automatic recharges off when the payment page of the last try can no longer be paid. If they are off
 * already, only forgets the failures. Plans nothing before that time, or for a closed account.
 */
export async function planLastFailure(
  table: Reader,
  { accountId, status }: Pick<AccountBilling, "accountId" | "status">,
  settings: StoredSettings,
  now: Date,
): Promise<ChangePlan<undefined>> {
  const { retry_at = "", ...rest } = settings;
  const recharge = settings.last === undefined ? undefined : await readRecharge(table, accountId, settings.last);
  if (status === "closed" || retry_at > now.toISOString() || !recharge)
    return { value: undefined, writes: [], changes: [] };
  const next = { ...rest, enabled: false, failures: 0 };
  const changes = switchOffChanges(accountId, recharge, settings, next);
  return { value: undefined, writes: [settingsWrite(accountId, next)], changes, housekeeping: true };
}
