import * as z from "zod";

import { accountKey } from "../accounts/account.ts";
import { getAccount } from "../accounts/visible.ts";
import { Currency, money, MoneyText } from "../core/money.ts";
import { dayOf } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { afterClosing, BillingState, firstDaysPrice, firstState, stateKey } from "../wallet/state.ts";
import { readOptions, freeRange, optionsRange } from "./stock.ts";

export const CountryCode = z.string().regex(/^[A-Z]{2}$/, { error: "Write two upper-case letters, such as DE" });

export const OptionId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, { error: "Write an option_id of dedicated_ips.available_options" });

export const IpOption = z
  .object({
    option_id: z.string().meta({ description: "The option's id, for `dedicated_ips.claim`." }),
    country_code: z.string().meta({ description: "The country of the addresses, as an ISO 3166-1 alpha-2 code." }),
    asn: z.int().meta({ description: "The autonomous system of the addresses." }),
    price: MoneyText.meta({
      description:
        "The price of the first 30 days of an address, without VAT: the price of a month in the account's plan. If the account had other plans in the last 30 days, or will change to other plans, the highest price of all these plans counts.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    available: z.int().min(0).meta({ description: "How many addresses can be claimed." }),
  })
  .meta({ id: "DedicatedIpOption", description: "An option for claiming a managed dedicated IP." });
export type IpOption = z.output<typeof IpOption>;

/** The items that the authorization and `billingOf` read. Both read the account. */
export const aheadOfState = (accountId: string): Key[] => [
  stateKey(accountId),
  accountKey(accountId),
  accountKey(accountId),
];

/**
 * Reads the billing state and the currency of an account. A closed account has no plan. Throws 404 if there is no such
 * account.
 */
export async function billingOf(table: Reader, accountId: string): Promise<{ state: BillingState; currency: string }> {
  const [stored, { created_at, currency, status }] = await Promise.all([
    table.get(stateKey(accountId), BillingState),
    getAccount(table, accountId),
  ]);
  const state = stored ?? firstState(created_at);
  return { state: status === "closed" ? afterClosing(state) : state, currency };
}

/** The items that `availableOptions` reads. */
export const aheadOfOptions = (accountId: string): Ahead => ({
  keys: aheadOfState(accountId),
  ranges: [optionsRange, freeRange()],
});

/** All options, with today's price for the account; with `country`, only the options of this country. */
export async function availableOptions(
  accountId: string,
  country: string | undefined,
  { table, now }: Context,
): Promise<IpOption[]> {
  const [options, { state, currency }] = await Promise.all([readOptions(table), billingOf(table, accountId)]);
  const price = money(firstDaysPrice(state, dayOf(now()), currency));
  return options
    .filter(({ country_code }) => country === undefined || country_code === country)
    .map(({ option_id, country_code, asn, available }) => ({
      option_id,
      country_code,
      asn,
      price,
      currency,
      available,
    }));
}
