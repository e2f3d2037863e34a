/** The rules for a password besides its length, in the order of the checks. */
export const passwordRules =
  "with at least 6 different characters and without control characters. It must not be one text repeated, or a sequence in which nearly every character is the same as the character before it, or its neighbour, as in `abcdefghijkl`";

/** The reason why a password is refused, with the type of the error that reports it. */
export type Weakness = { type: "value_error" | "password_too_simple"; message: string };

/** Explains why a chosen password is too weak; undefined if it is not. Its length is checked elsewhere. */
export function weakness(password: string): Weakness | undefined {
  // SASL PLAIN (RFC 4616) ends the user name with a NUL, and no mail program lets its users type other control
  // characters.
  if (/[\p{Cc}\p{Cs}]/u.test(password)) {
    return { type: "value_error", message: "Use only characters that can be typed, no control characters" };
  }
  const message = simplicity(Array.from(password.normalize("NFC")));
  return message === undefined ? undefined : { type: "password_too_simple", message };
}

function simplicity(characters: readonly string[]): string | undefined {
  if (new Set(characters).size < 6) return "Use at least 6 different characters";
  if (/^(.+?)\1+$/su.test(characters.join(""))) return "The password is one text repeated. Choose another";
  const codes = characters.map((one) => one.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, index) => Math.abs(code - (codes[index] ?? 0)) <= 1);
  return steps.length >= codes.length - 3
    ? "The password is a sequence of neighbouring characters. Choose another"
    : undefined;
}
