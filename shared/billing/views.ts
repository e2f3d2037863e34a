import * as z from "zod";

import { Currency, money, MoneyText } from "../core/money.ts";
import { dayOf, monthOf } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { vatRule } from "../wallet/vat.ts";
import { openAccountBilling } from "./book.ts";
import { usageCost } from "./charges.ts";
import { dueOf } from "./invoices/invoice.ts";

export const WalletBalance = z
  .object({
    balance: MoneyText.meta({ description: "The balance of the wallet, including held amounts." }),
    held: MoneyText.meta({
      description: "The part of the balance that is held for purchases which are not complete yet.",
    }),
    available: MoneyText.meta({
      description:
        "The part of the balance that is not held. A purchase can cost this much. `balance` = `held` + `available`.",
    }),
    accrued_charges: MoneyText.meta({
      description:
        "The charges that the wallet has not paid yet, with their VAT: recorded days that are on no invoice, open invoices, and debts for payments that were taken back.",
    }),
    net_balance: MoneyText.meta({
      description: "The balance less the accrued charges. Negative if the balance does not cover the charges.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  })
  .meta({ id: "WalletBalance", description: "The balance of an account's wallet, and the charges to pay from it." });

/** The balance of the wallet, and the charges that the wallet has to pay. Throws 404 if there is no account. */
export async function walletBalance(
  accountId: string,
  { table, now }: Context,
): Promise<z.output<typeof WalletBalance>> {
  const book = await openAccountBilling(table, accountId, now());
  const { account, accruals, open, posted, available, profile, state } = book;
  const months = Map.groupBy(accruals, ({ day }) => monthOf(day));
  const rule = vatRule(profile, dayOf(book.now));
  const used = [...months.values()].map((days) => {
    const { net, vat } = usageCost(days, rule, account.currency);
    return net + vat;
  });
  const accrued = [...used, ...open.map(dueOf)].reduce((sum, amount) => sum + amount, state.owed);
  return {
    balance: money(posted),
    held: money(posted - available),
    available: money(available),
    accrued_charges: money(accrued),
    net_balance: money(posted - accrued),
    currency: account.currency,
  };
}
