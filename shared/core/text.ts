import * as z from "zod";

/** A text of printable ASCII that begins with a visible character. Most texts are. */
const plain = /^[!-~][ -~]*$/;

/** The patterns for other texts. To build them takes 10 ms, most of it for the set of all emoji. */
const buildPatterns = () => ({
  /** Invisible characters: controls, format characters, halves of surrogate pairs. */
  hidden: /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
  /**
   * The invisible characters that are allowed: those in an emoji of UTS #51's set for interchange, and a joiner after a
   * letter that can change its shape. `foldedName` removes them, so that no two names look the same.
   */
  allowedInvisible:
    /\p{RGI_Emoji}|(?<=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}]])[\u200c\u200d]/gv,
  /** Characters that are visible by themselves. Unicode counts the blanks of Braille and of music as symbols. */
  visible: /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]]/v,
});
let patterns: ReturnType<typeof buildPatterns> | undefined;

/** The reason why a text cannot be shown to people, as one sentence without its period; undefined if it can. */
export function textFault(text: string): string | undefined {
  if (text === "" || plain.test(text)) return undefined;
  const { hidden, allowedInvisible, visible } = (patterns ??= buildPatterns());
  const found = hidden.test(text) ? hidden.exec(text.replaceAll(allowedInvisible, "")) : null;
  if (found) return `This text has an invisible character (${quoteCharacter(found[0])}). Remove it`;
  return visible.test(text) ? undefined : "This text has no visible character";
}

/** The form of a name that is used to compare names. It ignores case, composition and invisible characters. */
export const foldedName = (name: string): string =>
  name
    .normalize("NFKC")
    .replaceAll(/\u200c|\u200d|\ufe0f/g, "")
    .toLowerCase();

type Text = {
  /** In UTF-16 code units, after trimming. */
  least?: number;
  most: number;
  /** The description of the text, as a sentence. */
  description: string;
};

const checked = (text: z.ZodString, { least = 1, most }: Text, faultOf: (text: string) => string | undefined) =>
  (least === 0 ? text : text.min(least)).max(most, { abort: true }).superRefine((given, context) => {
    const message = faultOf(given);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

/** A whole number with commas between its thousands. `toLocaleString` would load ICU's data, which takes longer than zod. */
const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

const lengthOf = ({ least = 1, most }: Text): string =>
  least === 0 ? `at most ${grouped(most)}` : `${least} to ${grouped(most)}`;

/** Text for people in one line: a name, a title, a short description. */
export const line = (text: Text): z.ZodString =>
  checked(z.string().trim(), text, textFault).meta({
    description: `${text.description} One line of ${lengthOf(text)} characters after trimming, without invisible characters.`,
  });

/** Text for people in several lines. Every kind of line end becomes a line feed; tabs are allowed. */
export const lines = (text: Text): z.ZodString => {
  const given = z
    .string()
    .overwrite((written) => written.replaceAll(/\r\n?/g, "\n"))
    .trim();
  return checked(given, text, (written) => textFault(written.replaceAll(/[\n\t]/g, " ").trim())).meta({
    description: `${text.description} One or more lines of ${lengthOf(text)} characters in all after trimming, without invisible characters except tabs and line ends.`,
  });
};

/** A text that may be null, or left out. */
export const orNothing = (text: z.ZodString): z.ZodOptional<z.ZodNullable<z.ZodString>> =>
  text.nullish().meta({ description: text.description ?? "" });

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a text for the content of an HTML element or a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");

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
