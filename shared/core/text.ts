import * as z from "zod";

/** A text of printable ASCII that begins with a visible character. Most texts match, and need no other pattern. */
const printableAscii = /^[!-~][ -~]*$/;

/** Builds the patterns for other texts. This takes 10 ms, most of it for the set of all emoji. */
const buildPatterns = () => ({
  /** Invisible characters, such as controls, format characters, line separators and halves of surrogate pairs. */
  hidden: /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
  /**
   * The allowed invisible characters: those inside an emoji of UTS #51's set for interchange, and a joiner that can
   * change the shape of the letter before the joiner. `foldedName` removes joiners and the variation selector of emoji,
   * so names that differ only in these characters count as the same name.
   */
  allowedInvisible:
    /\p{RGI_Emoji}|(?<=[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}]])[\u200c\u200d]/gv,
  /**
   * Visible characters. The blank of Braille and the null notehead are excluded, although Unicode has them as symbols.
   */
  visible: /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]]/v,
});
let patterns: ReturnType<typeof buildPatterns> | undefined;

/** The reason why a text is not fit for people, as a sentence without its period; undefined if the text is fit. */
export function textFault(text: string): string | undefined {
  if (text === "" || printableAscii.test(text)) return undefined;
  const { hidden, allowedInvisible, visible } = (patterns ??= buildPatterns());
  const match = hidden.test(text) ? hidden.exec(text.replaceAll(allowedInvisible, "")) : null;
  if (match) return `This text has an invisible character (${quoteCharacter(match[0])}). Remove it`;
  return visible.test(text) ? undefined : "This text has no visible character";
}

/**
 * The form of a name for comparison. Case, Unicode compatibility forms, joiners and the variation selector of emoji
 * make no difference.
 */
export const foldedName = (name: string): string =>
  name
    .normalize("NFKC")
    .replaceAll(/\u200c|\u200d|\ufe0f/g, "")
    .toLowerCase();

type Text = {
  /** The least length after trimming, in UTF-16 code units. The default is 1. */
  least?: number;
  /** The greatest length after trimming, in UTF-16 code units. */
  most: number;
  /** The description of the text, as a sentence. */
  description: string;
};

const withLimits = (text: z.ZodString, { least = 1, most }: Text, faultOf: (text: string) => string | undefined) =>
  (least === 0 ? text : text.min(least)).max(most, { abort: true }).superRefine((value, context) => {
    const message = faultOf(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });

/** A number of things: `1 day`, `7 days`. */
export const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Formats a whole number with commas. `toLocaleString` would load ICU's data, which takes longer than to load zod. */
const withCommas = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");

const lengthOf = ({ least = 1, most }: Text): string =>
  least === 0 ? `at most ${withCommas(most)}` : `${least} to ${withCommas(most)}`;

/** Text for people in one line: a name, a title, a short description. */
export const line = (text: Text): z.ZodString =>
  withLimits(z.string().trim(), text, textFault).meta({
    description: `${text.description} One line of ${lengthOf(text)} characters after trimming, without invisible characters.`,
  });

/** Text for people in several lines. A line end of any kind becomes a line feed. Tabs are allowed. */
export const lines = (text: Text): z.ZodString => {
  const normalized = z
    .string()
    .overwrite((value) => value.replaceAll(/\r\n?/g, "\n"))
    .trim();
  return withLimits(normalized, text, (value) => textFault(value.replaceAll(/[\n\t]/g, " ").trim())).meta({
    description: `${text.description} One or more lines of ${lengthOf(text)} characters in all after trimming, without invisible characters except tabs and line ends.`,
  });
};

/** Makes the schema of a text optional: the text may be null or absent. */
export const orNothing = (text: z.ZodString): z.ZodOptional<z.ZodNullable<z.ZodString>> =>
  text.nullish().meta({ description: text.description ?? "" });

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Escapes a text for the content of an HTML element or a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");

/** The result of parsing a text: its normal form, or the reason why it is invalid, as a sentence without its period. */
export type Reading = { value: string } | { fault: string };

/** Adds a parser to the schema of a text. A fault that `read` finds is an error. The output is the normal form. */
export const readable = (text: z.ZodString, read: (given: string) => Reading): z.ZodString =>
  text
    .superRefine((given, context) => {
      const reading = read(given);
      if ("fault" in reading) context.addIssue({ code: "custom", message: reading.fault });
    })
    .overwrite((given) => {
      const reading = read(given);
      return "value" in reading ? reading.value : given;
    });

const quotedLength = 40;

/**
 * Quotes a customer's text in a message. A text of more than 40 UTF-16 code units is cut after 40, and gets an
 * ellipsis. Half a surrogate pair becomes U+FFFD.
 */
export function quoteText(text: string): string {
  const start = text.length > quotedLength ? `${text.slice(0, quotedLength)}…` : text;
  return `"${start.toWellFormed()}"`;
}

/** Names a character in a message: `"☃" (U+2603)`, or only `U+200B` for an invisible character. */
export function quoteCharacter(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(character) ? code : `"${character}" (${code})`;
}
