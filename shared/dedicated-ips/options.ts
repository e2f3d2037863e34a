import * as z from "zod";

import { getAccount } from "../accounts/visible.ts";
import { dayOf } from "../core/days.ts";
import { Currency, currency, money, MoneyText } from "../core/money.ts";
import type { Context } from "../http/route.ts";
import type { Reader } from "../table/table.ts";
import { BillingState, firstDaysPrice, firstState, stateKey } from "../wallet/state.ts";
import { readOptions } from "./stock.ts";

export const CountryCode = z.string().regex(/^[A-Z]{2}$/, { error: "Write two upper-case letters, such as DE" });

export const OptionId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, { error: "Write an option_id of dedicated_ips.available_options" });

export const IpOption = z
  .object({
    option_id: z.string().meta({ description: "What to claim it by." }),
    country_code: z.string().meta({ description: "The country the addresses are in, ISO 3166-1 alpha-2." }),
    asn: z.int().meta({ description: "The autonomous system they are in." }),
    price: MoneyText.meta({
      description:
        "What the first 30 days of one cost: a month by the account's plan, the dearest one of the last 30 days and of those to come.",
    }),
    currency: Currency.meta({ description: "ISO 4217." }),
    available: z.int().min(0).meta({ description: "How many can be claimed." }),
  })
  .meta({ id: "DedicatedIpOption", description: "A kind of managed dedicated IP." });
export type IpOption = z.output<typeof IpOption>;

/** The billing state of an account. */
export async function billingOf(table: Reader, accountId: string): Promise<BillingState> {
  const state = await table.get(stateKey(accountId), BillingState);
  return state ?? firstState((await getAccount(table, accountId)).created_at);
}

/** The options that can be claimed, with today's prices. */
export async function availableOptions(
  accountId: string,
  country: string | undefined,
  { table, now }: Context,
): Promise<IpOption[]> {
  const [options, state] = await Promise.all([readOptions(table), billingOf(table, accountId)]);
  const price = money(firstDaysPrice(state, dayOf(now())));
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
