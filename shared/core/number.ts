/**
 * Whether a double can hold a JSON number exactly. Leading and trailing zeros and the form of the exponent are ignored.
 */
export const isKept = (digits: string): boolean => {
  if (/^-?[\d.]{1,15}$/.test(digits)) return true;
  const value = Number(digits);
  return Number.isFinite(value) && decimal(String(value)) === decimal(digits);
};

/** A decimal number in one form for comparison, without its sign, its point and the zeros around it. */
function decimal(digits: string): string {
  const [, whole = "", fraction = "", power = "0"] = /^-?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  // A regular expression that looks for zeros at the end would take quadratic time.
  let end = all.length;
  while (all[end - 1] === "0") end -= 1;
  const kept = all.slice(0, end);
  return kept === "" ? "0" : `${kept}e${Number(power) - fraction.length + all.length - kept.length}`;
}
