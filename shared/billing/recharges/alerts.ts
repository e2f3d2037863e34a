import * as z from "zod";

import { change, defineKind } from "../../changes/kind.ts";
import { Currency, minorUnits, money, moneyUpTo, MoneyText } from "../../core/money.ts";
import { clock, dayOf, daysInMonth, monthOf, plusDays, type Day } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { lowBalanceDays, planAt, topupLimit } from "../../wallet/catalogue.ts";
import { planOn } from "../../wallet/state.ts";
import { vatRule, withVat } from "../../wallet/vat.ts";
import { aheadOfBillingView, openAccountBilling, totalDue, type AccountBilling } from "../book.ts";
import { Accrual, accrualKey, usageCost } from "../charges.ts";
import { forecastMonth } from "../forecast.ts";

/*
 * The threshold of a low wallet, and the notices that were sent.
 *
 * Access patterns
 *   the alerts of an account   ACCOUNT#<id> / ALERTS
 */
const alertsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "ALERTS" });

export const StoredAlerts = z.object({
  /** The customer's threshold in minor units; null for the default. */
  low_balance_threshold: z.int().min(0).nullable(),
  /**
   * Whether the wallet was below the threshold at the last check. Does not become true while a running recharge will
   * lift the wallet above the threshold.
   */
  is_low: z.boolean(),
  /**
   * The last notice of each kind, as `<day>/<days>`. `<day>` is the day on which the account becomes past due or is
   * suspended. `<days>` is 7 for the notice 7 to 2 days before this day, and 1 for the last notice.
   */
  past_due_notice: z.string().optional(),
  suspension_notice: z.string().optional(),
  version: z.int(),
});
export type StoredAlerts = z.output<typeof StoredAlerts>;

const firstAlerts: StoredAlerts = { low_balance_threshold: null, is_low: false, version: 0 };

export const readAlerts = async (table: Reader, accountId: string): Promise<StoredAlerts> =>
  (await table.get(alertsKey(accountId), StoredAlerts)) ?? firstAlerts;

/** The write that replaces the alerts. The write fails unless the alerts still have the version that was read. */
export const alertsWrite = (accountId: string, { version, ...alerts }: StoredAlerts): Write => ({
  put: { ...alertsKey(accountId), ...alerts, version: version + 1 },
  if: version === 0 ? "absent" : { version },
});

const AlertSettings = z.object({
  low_balance_threshold: MoneyText.nullable().meta({
    description: `The event \`billing.wallet.low_balance\` comes when the rest of the wallet, \`left\` of \`billing.alerts.get\`, falls below this amount. An automatic recharge that is on its way counts as a part of the rest. Null for the cost of ${lowBalanceDays} days of usage.`,
  }),
});

export const Alerts = AlertSettings.extend({
  effective_low_balance_threshold: MoneyText.meta({ description: "The threshold that applies now." }),
  left: MoneyText.meta({
    description:
      "The rest of the wallet: the balance without held amounts, minus the cost of the recorded days that are on no invoice, with VAT, and minus the amounts that are due. Usage that is not recorded yet is not subtracted.",
  }),
  is_low: z.boolean().meta({ description: "Whether `left` is below the threshold." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
}).meta({ id: "BillingAlerts", description: "When the account is told that the wallet is low." });

export const AlertsUpdate = z
  .strictObject({
    low_balance_threshold: moneyUpTo(topupLimit)
      .nullable()
      .optional()
      .meta({
        description: `The threshold, at most ${money(topupLimit)}. Null for the cost of ${lowBalanceDays} days of usage.`,
      }),
  })
  .meta({ id: "BillingAlertsUpdate", description: "The alerts to change." });

export const alertsKind = defineKind({
  name: "billing.alerts",
  verbs: ["updated"],
  view: AlertSettings,
  seenWith: "billing.view",
});

const settingsOf = ({ low_balance_threshold: threshold }: StoredAlerts): z.input<typeof AlertSettings> => ({
  low_balance_threshold: threshold === null ? null : money(threshold),
});

/** The first and the last key of the accruals from the seventh day before a day to the day itself. */
const lastWeek = (accountId: string, today: Day): [first: Key, last: Key] => [
  accrualKey(accountId, plusDays(today, -7)),
  accrualKey(accountId, today),
];

/** The items and ranges that `getAlerts` reads. */
export function aheadOfAlerts(accountId: string): Ahead {
  const { keys, ranges = [] } = aheadOfBillingView(accountId);
  const [{ PK: partition, SK: from }, { SK: to }] = lastWeek(accountId, dayOf(clock()));
  return { keys: [alertsKey(accountId), ...keys], ranges: [...ranges, { partition, from, to }] };
}

/**
 * The amount that is left in the wallet, in minor units: the available amount, less the cost of the recorded days that
 * are on no invoice, with VAT, less the amount that is due.
 */
export const leftOf = (book: AccountBilling): number => book.available - usedOf(book) - totalDue(book);

/** The cost of the days in `accruals` with their VAT, in minor units. With `before`, only earlier days count. */
const usedOf = (book: AccountBilling, before?: Day): number =>
  costOf(book, before === undefined ? book.accruals : book.accruals.filter(({ day }) => day < before));

/** The cost of recorded days with their VAT, in minor units. */
function costOf({ account, profile, now }: AccountBilling, days: readonly Accrual[]): number {
  const costs = [...Map.groupBy(days, ({ day }) => monthOf(day)).values()].map((month) =>
    usageCost(month, vatRule(profile, dayOf(now)), account.currency),
  );
  return costs.reduce((sum, { net, vat }) => sum + net + vat, 0);
}

/**
 * The estimated cost of the usage of `days` days, in minor units, with VAT. The estimate uses the recorded days of
 * the last week. If there are none, it uses the plan's minimum.
 */
async function estimatedCost(table: Reader, book: AccountBilling, today: Day, days: number): Promise<number> {
  const { accountId, account, profile, state } = book;
  const [from, to] = lastWeek(accountId, today);
  const recorded = (await table.between(from.PK, from.SK, to.SK)).map((item) => Accrual.parse(item));
  if (recorded.length > 0) return Math.ceil((costOf(book, recorded) * days) / recorded.length);
  const plan = planOn(state, today);
  if (plan === null) return 0;
  const month = withVat(planAt(plan, today, account.currency).minimum, vatRule(profile, today));
  return Math.ceil((month * days) / daysInMonth(today));
}

/** The threshold of the low balance in minor units: the customer's own threshold, or the cost of a week of usage. */
export const thresholdOf = async (
  table: Reader,
  book: AccountBilling,
  { low_balance_threshold }: StoredAlerts,
): Promise<number> => low_balance_threshold ?? (await estimatedCost(table, book, dayOf(book.now), lowBalanceDays));

/**
 * The expected charge on the first day of the next month in minor units, if the usage of the account stays the same.
 */
export async function expectedCharge(table: Reader, book: AccountBilling): Promise<number> {
  const month = monthOf(dayOf(book.now));
  const { total } = await forecastMonth(table, book, month);
  return (minorUnits(total) ?? 0) + usedOf(book, month) + totalDue(book);
}

async function alertsView(
  table: Reader,
  accountId: string,
  alerts: StoredAlerts,
  now: Date,
): Promise<z.input<typeof Alerts>> {
  const book = await openAccountBilling(table, accountId, now);
  const threshold = await thresholdOf(table, book, alerts);
  const left = leftOf(book);
  return {
    ...settingsOf(alerts),
    effective_low_balance_threshold: money(threshold),
    left: money(left),
    is_low: left < threshold,
    currency: book.account.currency,
  };
}

export const getAlerts = async (
  accountId: string,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<z.input<typeof Alerts>> => alertsView(table, accountId, await readAlerts(table, accountId), now());

/** The new threshold in minor units, or null for the default. If no threshold is given, the present threshold. */
function newThreshold(given: string | number | null | undefined, present: number | null): number | null {
  if (given === undefined) return present;
  return given === null ? null : (minorUnits(given) ?? present);
}

export function updateAlerts(
  accountId: string,
  { low_balance_threshold: given }: z.output<typeof AlertsUpdate>,
  { table, now, commit }: Context,
): Promise<z.input<typeof Alerts>> {
  return commit(async () => {
    const before = await readAlerts(table, accountId);
    const threshold = newThreshold(given, before.low_balance_threshold);
    const after = { ...before, low_balance_threshold: threshold };
    const value = await alertsView(table, accountId, after, now());
    if (threshold === before.low_balance_threshold) return { value, writes: [], changes: [] };
    return {
      value,
      writes: [alertsWrite(accountId, after)],
      changes: [change(alertsKind, "updated", accountId, { before: settingsOf(before), after: settingsOf(after) })],
    };
  });
}
