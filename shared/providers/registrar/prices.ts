/** The prices of a name for a year, in minor units of `currency` (shared/core/money.ts). */
type Price = { registration: number; renewal: number };

/** The prices of the embedded registry, by top-level domain. */
export const prices: ReadonlyMap<string, Price> = new Map([
  ["com", { registration: 1_400, renewal: 1_400 }],
  ["net", { registration: 1_600, renewal: 1_600 }],
  ["org", { registration: 1_300, renewal: 1_500 }],
  ["io", { registration: 4_900, renewal: 5_900 }],
  ["dev", { registration: 1_500, renewal: 1_700 }],
  ["app", { registration: 1_700, renewal: 1_900 }],
  ["co", { registration: 2_500, renewal: 3_200 }],
  ["email", { registration: 2_400, renewal: 2_650 }],
  ["info", { registration: 999, renewal: 2_399 }],
  ["biz", { registration: 1_800, renewal: 2_100 }],
  ["me", { registration: 1_750, renewal: 2_250 }],
  ["de", { registration: 900, renewal: 900 }],
  ["co.uk", { registration: 925, renewal: 925 }],
  ["eu", { registration: 1_050, renewal: 1_050 }],
  ["xyz", { registration: 299, renewal: 1_399 }],
  ["shop", { registration: 299, renewal: 3_799 }],
  ["online", { registration: 299, renewal: 3_599 }],
]);

/** A premium name costs this many times the usual price. */
export const premiumFactor = 100;
