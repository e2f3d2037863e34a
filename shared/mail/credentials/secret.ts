/** What a password has to be, besides its length, in the order it is looked at. */
export const passwordRules =
  "without control characters, with at least 6 different characters, not one text repeated, and no sequence in which nearly every character is the next of the one before, the one before it, or the same";

/** What is wrong with a password, and by which type of error that is told. */
export type Weakness = { type: "value_error" | "password_too_simple"; message: string };

/** What is wrong with a password somebody chose; undefined when nothing is that can be seen. Its length is checked apart. */
export function weakness(password: string): Weakness | undefined {
  // Between them and the password there is a NUL in SASL's PLAIN (RFC 4616), and no mail program lets one type others.
  if (/[\p{Cc}\p{Cs}]/u.test(password)) {
    return { type: "value_error", message: "Use characters that can be typed: no control characters" };
  }
  const message = simplicity(Array.from(password.normalize("NFC")));
  return message === undefined ? undefined : { type: "password_too_simple", message };
}

function simplicity(characters: readonly string[]): string | undefined {
  if (new Set(characters).size < 6) return "Use at least 6 different characters";
  if (/^(.+?)\1+$/su.test(characters.join(""))) return "It repeats itself: choose one that does not";
  const codes = characters.map((one) => one.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, index) => Math.abs(code - (codes[index] ?? 0)) <= 1);
  return steps.length >= codes.length - 3 ? "It is a sequence of characters: choose one that is not" : undefined;
}
