import * as z from "zod";

/** The currency of accounts, prices and stored amounts for which no currency is set. */
export const defaultCurrency = "USD";
/** The decimals of every currency that an account can have (ISO 4217). */
const decimals = 2;
const unit = 10 ** decimals;

export const Currency = z.string().regex(/^[A-Z]{3}$/);

const hasTwoDecimals = (code: string): boolean =>
  new Intl.NumberFormat("en", { style: "currency", currency: code }).resolvedOptions().maximumFractionDigits ===
  decimals;

/**
 * A currency that an account can have: of ISO 4217, with two decimals. All amounts are hundredths of their currency.
 */
export const AccountCurrency = Currency.refine((code) => Intl.supportedValuesOf("currency").includes(code), {
  error: "a currency of ISO 4217, such as EUR",
  abort: true,
}).refine(hasTwoDecimals, { error: "a currency with two decimals; others are not supported" });

/** An amount in an answer: a decimal string. */
export const MoneyText = z.string().regex(/^-?\d+\.\d{2}$/);

const amountPattern = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2}))?$/;

/**
 * Converts a decimal to integer minor units. The decimal has at most 12 digits before the point, and at most two after
 * it. It has no sign, exponent or space, and no needless zeros at its start. Undefined for any other text.
 */
export function minorUnits(decimal: string | number): number | undefined {
  const [, whole, fraction = ""] = amountPattern.exec(String(decimal)) ?? [];
  return whole === undefined ? undefined : Number(whole) * unit + Number(fraction.padEnd(decimals, "0"));
}

/**
 * The error in an amount, which must be above zero, at least `least` and at most `most` minor units; undefined if the
 * amount is valid.
 */
function faultOf(decimal: string | number, least: number, most: number): string | undefined {
  const amount = minorUnits(decimal);
  if (amount === undefined) return `Write an amount such as "12.50", with at most ${decimals} decimals`;
  if (amount === 0) return "The amount must be above zero";
  if (amount < least) return `The amount must be at least ${money(least)}`;
  return amount > most ? `The amount must be at most ${money(most)}` : undefined;
}

/**
 * The schema of an amount in a request: a string or a JSON number with at most two decimals. The amount is above zero,
 * at least `least` and at most `most` minor units.
 */
export const moneyUpTo = (most: number, least = 1) =>
  z
    .union(
      [
        z.string().regex(amountPattern, { abort: true }),
        // `least` may rise, but a minimum in the published schema must not (docs/compatibility.md). So only
        // `superRefine` checks `least`.
        z
          .number()
          .min(1 / unit)
          .max(most / unit),
      ],
      {
        error: ({ input }) =>
          typeof input === "string" || typeof input === "number"
            ? (faultOf(input, least, most) ?? "This is not an amount")
            : `Write an amount such as "12.50"`,
      },
    )
    .superRefine((decimal, context) => {
      const fault = faultOf(decimal, least, most);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    });

/**
 * Formats integer minor units as a decimal string: 1250 → "12.50". Throws a RangeError if the number is not a safe
 * integer.
 */
export function money(minor: number): string {
  if (!Number.isSafeInteger(minor)) throw new RangeError(`${minor} is not an amount of money.`);
  const digits = String(Math.abs(minor)).padStart(decimals + 1, "0");
  return `${minor < 0 ? "-" : ""}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Divides whole numbers that are not negative, and rounds half up: 5/2 → 3. */
export const divideHalfUp = (numerator: number, denominator: number): number =>
  Number((2n * BigInt(numerator) + BigInt(denominator)) / (2n * BigInt(denominator)));
