import * as z from "zod";

import { accountKey } from "../../accounts/account.ts";
import { getAccount } from "../../accounts/visible.ts";
import { change, defineKind, type Change } from "../../changes/kind.ts";
import { invalidAt, Problem } from "../../core/errors.ts";
import { Id } from "../../core/ids.ts";
import { Currency, minorUnits, money, moneyUpTo, MoneyText } from "../../core/money.ts";
import { dayOf, monthOf, plusDays, startOf, Timestamp, type Day } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { leastPayment, rechargeDefaults, rechargeLimits, rechargeRetryDays } from "../../wallet/catalogue.ts";
import { planCurrencyKept } from "../../wallet/wallet.ts";
import { planRemoval, readMethod, unchangedMethod, type CardServices } from "./payment-method.ts";
import { readRecharge, rechargeChange, rechargeView, RechargeView, type StoredRecharge } from "./stored-recharge.ts";

/*
 * The rules by which an account's wallet is recharged from the saved card.
 *
 * Access patterns
 *   the automatic recharges of an account   ACCOUNT#<id> / AUTO_RECHARGE
 */
const settingsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "AUTO_RECHARGE" });

const MinorUnits = z.int().min(0);

/** The settings of an account, and its recharges of this month. Amounts are in minor units. */
export const StoredSettings = z.object({
  enabled: z.boolean(),
  threshold: MinorUnits,
  amount: MinorUnits,
  monthly_cap: MinorUnits,
  max_per_month: z.int(),
  /** The first day of the month to which `count` and `charged` belong. */
  month: z.string(),
  /** How many of the recharges that began in the month are running or have succeeded. */
  count: z.int(),
  /** The sum of these recharges. */
  charged: MinorUnits,
  /** The running recharge. At most one recharge runs at a time. */
  current: Id.optional(),
  /** The recharge that began last. */
  last: Id.optional(),
  /**
   * How many recharges have failed one after another. A recharge that the payer has to confirm counts until it is
   * confirmed. The number returns to 0 after a success or a confirmation, after a new card, when the wallet needs no
   * recharge, and when a failure has switched automatic recharges off.
   */
  failures: z.int(),
  /** No recharge begins before this time. After the last try, automatic recharges are switched off at this time. */
  retry_at: Timestamp.optional(),
  /** The number of recharges that began on the day (UTC) of the last recharge. Failed recharges count too. */
  attempts: z.object({ day: z.string(), count: z.int() }).optional(),
  /**
   * The first day of the month in which the customer was last told that the recharges of the month have reached their
   * limit.
   */
  limit_told: z.string().optional(),
  version: z.int(),
});
export type StoredSettings = z.output<typeof StoredSettings>;

const firstSettings: StoredSettings = {
  enabled: false,
  threshold: rechargeDefaults.threshold,
  amount: rechargeDefaults.amount,
  monthly_cap: rechargeDefaults.monthlyCap,
  max_per_month: rechargeDefaults.maxPerMonth,
  month: "",
  count: 0,
  charged: 0,
  failures: 0,
  version: 0,
};

/** The settings of an account, with the recharges in the month of `day`. */
export async function readSettings(table: Reader, accountId: string, day: Day): Promise<StoredSettings> {
  const stored = (await table.get(settingsKey(accountId), StoredSettings)) ?? firstSettings;
  const month = monthOf(day);
  // A clock that is behind must not begin the count of a month again.
  return stored.month >= month ? stored : { ...stored, month, count: 0, charged: 0 };
}

/** Whether the customer has ever set up automatic recharges. */
export const hasSettings = async (table: Reader, accountId: string): Promise<boolean> =>
  (await table.get(settingsKey(accountId), StoredSettings)) !== undefined;

/**
 * The most recharges that begin on a day (UTC). Failed recharges count too. A new card or setting does not begin a new
 * count.
 */
const attemptsPerDay = 4;

/** The attempts on the day of `now`, with one more attempt. */
export function withAttempt({ attempts }: StoredSettings, now: Date): NonNullable<StoredSettings["attempts"]> {
  const day = dayOf(now);
  // A clock that is behind must not begin the count of a day again.
  return attempts !== undefined && attempts.day >= day
    ? { day: attempts.day, count: attempts.count + 1 }
    : { day, count: 1 };
}

/** The time before which no recharge begins. Undefined if a recharge may begin now. */
export function noRechargeBefore(settings: StoredSettings, now: Date): string | undefined {
  const { day, count } = withAttempt(settings, now);
  const nextDay = startOf(plusDays(day, 1)).toISOString();
  const ends = [settings.retry_at ?? "", count > attemptsPerDay ? nextDay : ""];
  const last = ends.toSorted().at(-1) ?? "";
  return last > now.toISOString() ? last : undefined;
}

/** Whether every try has failed, and only the payment page of the last try can still be paid. */
export const isLastFailure = ({ failures }: StoredSettings): boolean => failures > rechargeRetryDays.length;

/** The write that replaces the settings. The write fails unless the settings still have the version that was read. */
export const settingsWrite = (accountId: string, { version, ...settings }: StoredSettings): Write => ({
  put: { ...settingsKey(accountId), ...settings, version: version + 1 },
  if: version === 0 ? "absent" : { version },
});

/** The write that makes a transaction fail if the settings change meanwhile. */
export const unchangedSettings = (accountId: string, { version }: StoredSettings): Write => ({
  check: settingsKey(accountId),
  if: version === 0 ? "absent" : { version },
});

const RechargeSettings = z.object({
  enabled: z.boolean().meta({ description: "Whether the wallet is recharged automatically." }),
  threshold: MoneyText.meta({
    description:
      "The wallet is recharged when the rest is less than this amount. The rest is `left` of `billing.alerts.get`: the balance without held amounts, minus the cost of the recorded days that are on no invoice, with VAT, and minus the amounts that are due.",
  }),
  amount: MoneyText.meta({
    description: "The amount of one recharge. A recharge takes more if the amount that is due needs more.",
  }),
  monthly_cap: MoneyText.meta({ description: "The most that the recharges of a calendar month (UTC) take." }),
  max_per_month: z.int().meta({ description: "The most recharges in a calendar month (UTC)." }),
});

export const AutoRecharge = RechargeSettings.extend({
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  state: z.enum(["off", "ready", "running", "waiting", "cap_reached"]).meta({
    description:
      "`ready`: recharges when the wallet is below the threshold. `running`: a recharge is on its way. `waiting`: a recharge failed, or four began today, and the next attempt is at `retry_at`. After the last attempt, `retry_at` is null until its page at `action_url` is paid or expires. `cap_reached`: no further recharge this month.",
  }),
  retry_at: Timestamp.nullable().meta({
    description:
      "When the next attempt is made after a failed recharge, or after the fourth recharge of a day (UTC). Null if there is none.",
  }),
  month_amount: MoneyText.meta({
    description: "The sum of the recharges of this month, including the running recharge.",
  }),
  month_count: z.int().meta({ description: "The number of recharges in `month_amount`." }),
  last_recharge: RechargeView.nullable().meta({ description: "The recharge that began last. Null if there was none." }),
}).meta({ id: "AutoRecharge", description: "The automatic recharges of an account's wallet." });
type AutoRecharge = z.input<typeof AutoRecharge>;

export const AutoRechargeUpdate = z
  .strictObject({
    enabled: RechargeSettings.shape.enabled,
    threshold: moneyUpTo(rechargeLimits.amount).meta({
      description: `The wallet is recharged when its rest, \`left\` of \`billing.alerts.get\`, is less than this amount. At most ${money(rechargeLimits.amount)}.`,
    }),
    amount: moneyUpTo(rechargeLimits.amount, leastPayment).meta({
      description: `The amount of one recharge. At least ${money(leastPayment)}, at most ${money(rechargeLimits.amount)}.`,
    }),
    monthly_cap: moneyUpTo(rechargeLimits.monthlyCap).meta({
      description: `The most that the recharges of a month take: at least \`amount\`, at most ${money(rechargeLimits.monthlyCap)}.`,
    }),
    max_per_month: z
      .int()
      .min(1)
      .max(rechargeLimits.maxPerMonth)
      .meta({ description: `The most recharges in a month, from 1 to ${rechargeLimits.maxPerMonth}.` }),
  })
  .partial()
  .meta({ id: "AutoRechargeUpdate", description: "The settings to change." });

export const autoRechargeKind = defineKind({
  name: "billing.auto_recharge",
  verbs: ["updated"],
  view: RechargeSettings,
  seenWith: "billing.view",
});

const settingsView = ({ enabled, threshold, amount, monthly_cap, max_per_month }: StoredSettings) => ({
  enabled,
  threshold: money(threshold),
  amount: money(amount),
  monthly_cap: money(monthly_cap),
  max_per_month,
});

/** The change of an account's settings. */
const settingsChange = (accountId: string, before: StoredSettings, after: StoredSettings): Change =>
  change(autoRechargeKind, "updated", accountId, { before: settingsView(before), after: settingsView(after) });

function stateOf(settings: StoredSettings, now: Date): AutoRecharge["state"] {
  const { enabled, current, count, max_per_month, charged, amount, monthly_cap } = settings;
  if (current !== undefined) return "running";
  if (!enabled) return "off";
  if (noRechargeBefore(settings, now) !== undefined) return "waiting";
  return count >= max_per_month || charged + amount > monthly_cap ? "cap_reached" : "ready";
}

export const aheadOfSettings = (accountId: string): { keys: Key[] } => ({
  keys: [settingsKey(accountId), accountKey(accountId)],
});

export async function getAutoRecharge(
  accountId: string,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<AutoRecharge> {
  const [settings, { currency }] = await Promise.all([
    readSettings(table, accountId, dayOf(now())),
    getAccount(table, accountId),
  ]);
  return autoRechargeView(table, accountId, settings, { currency, now: now() });
}

async function autoRechargeView(
  table: Reader,
  accountId: string,
  settings: StoredSettings,
  { currency, now }: { currency: string; now: Date },
): Promise<AutoRecharge> {
  const last = settings.last === undefined ? undefined : await readRecharge(table, accountId, settings.last);
  return {
    ...settingsView(settings),
    currency,
    state: stateOf(settings, now),
    retry_at: (settings.enabled && !isLastFailure(settings) ? noRechargeBefore(settings, now) : undefined) ?? null,
    month_amount: money(settings.charged),
    month_count: settings.count,
    last_recharge: last ? rechargeView(last) : null,
  };
}

/** A given amount, in minor units. If no amount is given, the present amount. */
const minor = (given: string | number | undefined, present: number): number =>
  given === undefined ? present : (minorUnits(given) ?? present);

/**
 * Changes the settings. Switching off and on does not bring the next attempt forward. Throws 409
 * `payment_method_required` if automatic recharges are switched on without a saved card, 422 for an amount above the
 * monthly cap, and 503 if the account's currency changes during the first change of the settings. The currency of an
 * account with stored settings does not change.
 */
export async function updateAutoRecharge(
  accountId: string,
  body: z.output<typeof AutoRechargeUpdate>,
  { table, now, commit }: Context,
): Promise<AutoRecharge> {
  const { currency } = await getAccount(table, accountId);
  return commit(async () => {
    const before = await readSettings(table, accountId, dayOf(now()));
    const isSwitchedOn = body.enabled === true && !before.enabled;
    const after: StoredSettings = {
      ...before,
      enabled: body.enabled ?? before.enabled,
      threshold: minor(body.threshold, before.threshold),
      amount: minor(body.amount, before.amount),
      monthly_cap: minor(body.monthly_cap, before.monthly_cap),
      max_per_month: body.max_per_month ?? before.max_per_month,
      // Who switches recharges on again during the wait after the last try begins a new series of tries.
      failures: isSwitchedOn && isLastFailure(before) ? 0 : before.failures,
    };
    requireBelowCap(after, body.amount === undefined ? "monthly_cap" : "amount");
    const method = after.enabled ? await readMethod(table, accountId) : undefined;
    if (isSwitchedOn && !method?.card) throw methodRequired();
    const value = await autoRechargeView(
      table,
      accountId,
      { ...after, version: before.version + 1 },
      { currency, now: now() },
    );
    const isSame = JSON.stringify(settingsView(before)) === JSON.stringify(settingsView(after));
    if (isSame) return { value, writes: [], changes: [] };
    return {
      value,
      writes: [
        settingsWrite(accountId, after),
        ...(isSwitchedOn && method ? [unchangedMethod(accountId, method)] : []),
        ...(before.version === 0 ? await planCurrencyKept(table, accountId, currency) : []),
      ],
      changes: [settingsChange(accountId, before, after)],
    };
  });
}

function requireBelowCap({ amount, monthly_cap }: StoredSettings, member: "amount" | "monthly_cap"): void {
  if (amount <= monthly_cap) return;
  const msg =
    member === "amount"
      ? `The amount is above the monthly cap of ${money(monthly_cap)}. Write a smaller amount, or a monthly_cap too`
      : `The monthly cap is below the amount of one recharge, ${money(amount)}`;
  throw invalidAt(["body", member], msg);
}

const methodRequired = (): Problem =>
  new Problem("payment_method_required", "Save a card first, with billing.payment_method_session.create.");

/**
 * Plans to switch off automatic recharges, with an event that gives the reason. If automatic recharges are off already,
 * plans only a check that they stay off.
 */
export async function planSwitchOff(
  table: Reader,
  accountId: string,
  reason: string,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const before = await readSettings(table, accountId, dayOf(now));
  if (!before.enabled) return { writes: [unchangedSettings(accountId, before)], changes: [] };
  const { currency } = await getAccount(table, accountId);
  const { last: id = accountId, amount } = before;
  const after = { ...before, enabled: false };
  return {
    writes: [settingsWrite(accountId, after)],
    changes: [
      settingsChange(accountId, before, after),
      rechargeChange("disabled", { id, amount, currency, status: "disabled", reason }),
    ],
  };
}

/** The changes to record if a failed recharge switches automatic recharges off. */
export function switchOffChanges(
  accountId: string,
  { id, amount, currency, reason: last = "" }: StoredRecharge,
  before: StoredSettings,
  after: StoredSettings,
): Change[] {
  if (!before.enabled || after.enabled) return [];
  const reason = `The last ${rechargeRetryDays.length + 1} recharges failed: ${last}`;
  return [
    settingsChange(accountId, before, after),
    rechargeChange("disabled", { id, amount, currency, status: "disabled", reason }),
  ];
}

/** The reason of a switch-off after the card was removed. */
export const cardRemovedReason = "The saved card was removed.";

/** Removes the saved card, if there is one, here and at the provider, and switches off automatic recharges. */
export async function deletePaymentMethod(
  accountId: string,
  { table, now, commit }: Context,
  { removeCard }: Pick<CardServices, "removeCard">,
): Promise<void> {
  const cardId = (await readMethod(table, accountId))?.card?.id;
  if (cardId === undefined) return commit(async () => ({ value: undefined, writes: [], changes: [] }));
  await removeCard(cardId);
  await commit(async () => {
    const removal = await planRemoval(table, accountId, cardId);
    const off = await planSwitchOff(table, accountId, cardRemovedReason, now());
    return {
      value: undefined,
      writes: removal.writes.length === 0 ? [] : [...removal.writes, ...off.writes],
      changes: removal.writes.length === 0 ? [] : [...removal.changes, ...off.changes],
    };
  });
}
