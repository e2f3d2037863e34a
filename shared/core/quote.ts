/** The result of parsing a text: its normal form, or the reason why it is invalid, as a sentence without its period. */
export type Reading = { value: string } | { fault: string };

const shownCharacters = 40;

/** A customer's text as a message quotes it: shortened, and without halves of surrogate pairs. */
export function quoteText(text: string): string {
  const start = text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
  return `"${start.toWellFormed()}"`;
}

/** A character as a message names it: `"☃" (U+2603)`, or only `U+200B` for an invisible one. */
export function quoteCharacter(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(character) ? code : `"${character}" (${code})`;
}
