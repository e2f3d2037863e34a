/** What is wrong with a password somebody chose; undefined when nothing is that can be seen. Its length is checked apart. */
export function weakness(password: string): string | undefined {
  // Between them and the password there is a NUL in SASL's PLAIN (RFC 4616), and no mail program lets one type others.
  if (/[\p{Cc}\p{Cs}]/u.test(password)) return "Use characters that can be typed: no control characters";
  const characters = Array.from(password.normalize("NFC"));
  if (new Set(characters).size < 6) return "Use at least 6 different characters";
  if (/^(.+?)\1+$/su.test(password)) return "It repeats itself: choose one that does not";
  const codes = characters.map((one) => one.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, index) => Math.abs(code - (codes[index] ?? 0)) <= 1);
  if (steps.length >= codes.length - 3) return "It is a sequence of characters: choose one that is not";
  return undefined;
}
