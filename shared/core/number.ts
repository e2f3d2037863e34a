/**
 * Whether a JSON number keeps its value as a double: the number and the double are written with the same digits.
 * Leading and trailing zeros and the form of the exponent do not matter.
 */
export const keepsDigits = (number: string): boolean => {
  if (/^-?[\d.]{1,15}$/.test(number)) return true;
  const value = Number(number);
  return Number.isFinite(value) && normalForm(String(value)) === normalForm(number);
};

/** The form of a decimal number for comparison: its digits without leading and trailing zeros, and an exponent. */
function normalForm(number: string): string {
  const [, whole = "", fraction = "", power = "0"] = /^-?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  // A regular expression that looks for zeros at the end would take quadratic time.
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end);
  if (significant === "") return "0";
  const removedZeros = digits.length - significant.length;
  return `${significant}e${Number(power) - fraction.length + removedZeros}`;
}
