import * as z from "zod";

/** The one currency of every wallet, and how many decimals it has (ISO 4217). */
export const currency = "USD";
const decimals = 2;
const unit = 10 ** decimals;

export const Currency = z.string().regex(/^[A-Z]{3}$/);

/** An amount in an answer: a decimal string. */
export const MoneyText = z.string().regex(/^-?\d+\.\d{2}$/);

const amountPattern = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2}))?$/;

/** Converts a decimal without sign, exponent or space to integer minor units; undefined for anything else. */
export function minorUnits(given: string | number): number | undefined {
  const [, whole, fraction = ""] = amountPattern.exec(String(given)) ?? [];
  return whole === undefined ? undefined : Number(whole) * unit + Number(fraction.padEnd(decimals, "0"));
}

/** The error in an amount, which must be above zero and at most `most` minor units; undefined if it is valid. */
function faultOf(given: string | number, most: number): string | undefined {
  const amount = minorUnits(given);
  if (amount === undefined) return `Write an amount such as "12.50", with at most ${decimals} decimals`;
  if (amount === 0) return "The amount must be above zero";
  return amount > most ? `The amount must be at most ${money(most)}` : undefined;
}

/**
 * The schema of an amount in a request, a string or a JSON number that `minorUnits` reads: above zero, at most `most`
 * minor units, with no more decimals than the currency has.
 */
export const moneyUpTo = (most: number) =>
  z
    .union(
      [
        z.string().regex(amountPattern, { abort: true }),
        z
          .number()
          .min(1 / unit)
          .max(most / unit),
      ],
      {
        error: ({ input }) =>
          typeof input === "string" || typeof input === "number"
            ? (faultOf(input, most) ?? "This is not an amount")
            : `Write an amount such as "12.50"`,
      },
    )
    .superRefine((given, context) => {
      const fault = faultOf(given, most);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    });

/** Integer minor units as a decimal string: 1250 → "12.50". */
export function money(minor: number): string {
  if (!Number.isSafeInteger(minor)) throw new RangeError(`${minor} is not an amount of money.`);
  const digits = String(Math.abs(minor)).padStart(decimals + 1, "0");
  return `${minor < 0 ? "-" : ""}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
