import * as z from "zod";

import { covers, type Permissions } from "../auth/permissions.ts";
import { Currency, money, MoneyText } from "../core/money.ts";
import { dayOf, monthOf, nextMonth } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import type { Reader } from "../table/table.ts";
import { openAccountBilling, totalDue, type AccountBilling } from "./book.ts";
import { forecastMonth, PeriodCost } from "./forecast.ts";

/** The request member of a dry run. */
export const DryRun = z.boolean().optional().meta({
  description:
    "Whether this is a dry run, which changes nothing. The answer then shows the effect of the call, and its cost in `preview`. A dry run fails with the same errors as the real call, except for a lack of money: `missing` has the amount that is lacking. The default is false.",
});

export const CostPreview = z
  .object({
    charged_now: MoneyText.meta({ description: "The amount that the call takes from the wallet at once, with VAT." }),
    held_now: MoneyText.meta({
      description:
        "The amount that the call holds in the wallet, with VAT. The wallet pays this amount when the call has taken effect. Otherwise the amount becomes available again.",
    }),
    available: MoneyText.nullable().meta({
      description:
        "The part of the wallet's balance that is not held, before the call. Null for callers without `billing.view`.",
    }),
    missing: MoneyText.meta({
      description:
        "The amount to top up before the call. `0.00` if the wallet covers `charged_now` and `held_now`. Otherwise this also has everything that is due, because a payment pays first what is due.",
    }),
    this_period: PeriodCost.nullable().meta({
      description:
        "A forecast of the next invoice, which is for the days of this month that are on no invoice yet. It assumes that the call is made, and that the usage stays the same after the call. Null for callers without `billing.view`.",
    }),
    next_period: PeriodCost.nullable().meta({
      description:
        "A forecast of the invoice for the next month. It assumes that the call is made, and that the usage stays the same after the call. Null for callers without `billing.view`.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  })
  .meta({ id: "CostPreview", description: "The cost that a call would have." });
export type CostPreview = z.output<typeof CostPreview>;

/** The preview in the answer of a dry run. */
export const Preview = CostPreview.optional().meta({
  description: "The cost that the call would have. Only in the answer of a dry run, which has changed nothing.",
});

/** The amounts that a call charges and holds at once, in minor units. */
export type CostsNow = { charged?: number; held?: number };

/**
 * The costs of a call: the amounts that the call charges and holds at once, and forecasts of the next invoices. `book`
 * has the plan and the usage as they would be after the call, and the wallet as it is before.
 */
export async function previewOf(
  table: Reader,
  book: AccountBilling,
  { charged = 0, held = 0 }: CostsNow,
  permissions: Permissions,
): Promise<CostPreview> {
  const month = monthOf(dayOf(book.now));
  const maySee = covers(permissions, "billing.view", []);
  const months = maySee ? [month, nextMonth(month)] : [];
  const [this_period = null, next_period = null] = await Promise.all(
    months.map((first) => forecastMonth(table, book, first)),
  );
  const cost = charged + held;
  return {
    charged_now: money(charged),
    held_now: money(held),
    available: maySee ? money(book.available) : null,
    missing: money(cost > book.available ? cost + totalDue(book) - book.available : 0),
    this_period,
    next_period,
    currency: book.account.currency,
  };
}

/** The costs of a call that changes nothing in the account's plan and usage. */
export async function previewCosts(
  accountId: string,
  costs: CostsNow,
  { table, now, permissions }: Pick<Context, "table" | "now" | "permissions">,
): Promise<CostPreview> {
  return previewOf(table, await openAccountBilling(table, accountId, now()), costs, permissions);
}
