import { escapeHtml } from "../core/text.ts";
import type { Letter } from "../providers/mail/mail.ts";

/** Our own words, and the texts of other people between them. Made by `sentence`. */
export type Sentence = readonly (string | { quoted: string })[];

/** One part of a letter, in the order in which it is read. */
export type Block =
  /** A paragraph, or with `small` a remark. */
  | { paragraph: Sentence; small?: boolean }
  /** A link as a button. The address follows, so that it can be copied. */
  | { button: string; link: string; remark?: Sentence }
  /** Names and values. */
  | { facts: readonly (readonly [name: string, value: string])[] }
  /** A code to type. */
  | { code: string }
  /** A line to copy, such as a call of the API. */
  | { command: string }
  /** Parts with a border around them. */
  | { box: readonly Block[] };

export type LetterContent = { subject: Sentence; blocks: readonly Block[]; foot: Sentence };

const longestName = 100;
const longestQuote = 400;
const longestSubject = 150;

/** A text in one line, cut to a number of characters. */
function cut(text: string, most: number): string {
  const characters = Array.from(text.replaceAll(/[\s\p{Cc}]+/gu, " "));
  return characters.length <= most ? characters.join("") : `${characters.slice(0, most).join("").trimEnd()}…`;
}

/** A name in one line, cut to 100 characters, so that it cannot dominate the letter. */
export const shortened = (name: string): string => cut(name, longestName);

/**
 * A template tag that makes a sentence. The words of the template are ours. The inserted texts come from other people.
 * Inserted texts are written in one line, cut to 400 characters, and are neither markup nor links. Sentences and
 * numbers can be inserted too.
 */
export const sentence = (words: TemplateStringsArray, ...inserted: (string | number | Sentence)[]): Sentence =>
  words.flatMap((word, index) => {
    const part = inserted[index] ?? "";
    if (typeof part === "object") return [word, ...part];
    return typeof part === "number" ? [word + String(part)] : [word, { quoted: cut(part, longestQuote) }];
  });

/** A list of texts of other people, as in `a, b, and c`. */
export const joinTexts = (texts: readonly Sentence[]): Sentence =>
  new Intl.ListFormat("en")
    .formatToParts(texts.map((_, index) => String(index)))
    .flatMap(({ type, value }) => (type === "element" ? (texts[Number(value)] ?? []) : [value]));

const asText = (parts: Sentence): string =>
  parts.map((part) => (typeof part === "string" ? part : part.quoted)).join("");

/** Escapes a text so that mail programs make no links of it. */
const unlinked = (text: string): string =>
  escapeHtml(text).replaceAll(/[.:/@]/g, (character) => `<span>${character}</span>`);

const asHtml = (parts: Sentence): string =>
  parts.map((part) => (typeof part === "string" ? escapeHtml(part) : unlinked(part.quoted))).join("");

/** The subject in one line, without characters that a header cannot have or that change the direction of the text. */
const subjectOf = (parts: Sentence): string =>
  cut(
    asText(parts)
      .toWellFormed()
      .replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, ""),
    longestSubject,
  );

function textOf(block: Block): string {
  if ("paragraph" in block) return asText(block.paragraph);
  if ("button" in block) return [block.link, ...(block.remark ? [asText(block.remark)] : [])].join("\n\n");
  if ("code" in block) return `    ${block.code}`;
  if ("command" in block) return `    ${block.command}`;
  if ("box" in block) return block.box.map(textOf).join("\n\n");
  const width = Math.max(...block.facts.map(([name]) => name.length));
  return block.facts.map(([name, value]) => `${`${name}:`.padEnd(width + 2)}${cut(value, longestQuote)}`).join("\n");
}

// Only the button and the lines have colours, so that the rest follows the reader's own scheme, dark or light.
const styles = {
  body: "margin:0;padding:24px 16px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif",
  main: "max-width:560px;margin:0 auto;overflow-wrap:anywhere",
  paragraph: "margin:0 0 16px",
  button:
    "display:inline-block;padding:12px 24px;border-radius:6px;background:#0b5fff;color:#ffffff;font-weight:600;text-decoration:none",
  small: "margin:0 0 16px;font-size:14px",
  box: "margin:24px 0;padding:16px 16px 0;border:1px solid #8a94a0;border-radius:6px",
  code: "margin:0 0 16px;font:600 28px/1.2 ui-monospace,Menlo,Consolas,monospace;letter-spacing:4px",
  command:
    "margin:0 0 16px;padding:8px 12px;border:1px solid #8a94a0;border-radius:6px;font:14px/1.5 ui-monospace,Menlo,Consolas,monospace",
  facts: "margin:0 0 16px;border-collapse:collapse",
  factName: "padding:2px 16px 2px 0;text-align:left;vertical-align:top;font-weight:600;white-space:nowrap",
  factValue: "padding:2px 0;vertical-align:top",
  foot: "margin:24px 0 0;padding-top:16px;border-top:1px solid #8a94a0;font-size:14px",
} as const;

const element = (style: keyof typeof styles, content: string): string => `<p style="${styles[style]}">${content}</p>`;

function buttonHtml({ button, link, remark }: Extract<Block, { button: string }>): string {
  const href = escapeHtml(link);
  const before = remark ? `${asHtml(remark)} ` : "";
  return `${element("paragraph", `<a href="${href}" style="${styles.button}">${escapeHtml(button)}</a>`)}
${element("small", `${before}The link leads to:<br><a href="${href}">${href}</a>`)}`;
}

const factHtml = ([name, value]: readonly [string, string]): string =>
  `<tr><th scope="row" style="${styles.factName}">${escapeHtml(name)}</th><td style="${styles.factValue}">${unlinked(cut(value, longestQuote))}</td></tr>`;

function htmlOf(block: Block): string {
  if ("paragraph" in block) return element(block.small ? "small" : "paragraph", asHtml(block.paragraph));
  if ("button" in block) return buttonHtml(block);
  if ("code" in block) return element("code", escapeHtml(block.code));
  if ("command" in block) return element("command", unlinked(block.command));
  if ("box" in block) return `<div style="${styles.box}">\n${block.box.map(htmlOf).join("\n")}\n</div>`;
  return `<table style="${styles.facts}">\n${block.facts.map(factHtml).join("\n")}\n</table>`;
}

/**
 * The subject of a letter, and its content as text and as HTML. The HTML loads nothing, and has no links except those
 * of buttons. Texts of other people add no lines, and to the HTML no markup and no links. A subject of more than 150
 * characters is cut, and gets an ellipsis at its end.
 */
export function letterOf({ subject: parts, blocks, foot }: LetterContent): Pick<Letter, "subject" | "text" | "html"> {
  const subject = subjectOf(parts);
  const text = `Hello,\n\n${blocks.map(textOf).join("\n\n")}\n\n-- \n${asText(foot)}\n`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
</head>
<body style="${styles.body}">
<div style="${styles.main}" role="article" lang="en">
${element("paragraph", "Hello,")}
${blocks.map(htmlOf).join("\n")}
${element("foot", asHtml(foot))}
</div>
</body>
</html>
`;
  return { subject, text, html };
}
