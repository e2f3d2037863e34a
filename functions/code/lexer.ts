import { LanguageError } from "./mistake.ts";
import type { Position } from "./syntax.ts";

/** `kind` is `name`, `string`, `number` or the sign itself: a line end is a sign, the program's end is empty. */
export type Token = { kind: string; text: string; value: string | number; at: Position };

export const sourceLimitBytes = 65_536;

const gap = /((?:[ \t]|\\\n|#[^\n]*)*)/;
const name = /([A-Za-z_]\w*)/;
const number = /((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\w*)/;
const quotes = /("""|'''|["'])/;
const sign = /[()[\]{},:;.=\n-]/;
const kinds = [name, number, quotes, sign, /([^])/, /$/].map(({ source }) => source);
const next = new RegExp(`${gap.source}(?:${kinds.join("|")})`, "uy");

/**
 * Cuts a program into tokens, the last of them its end; line ends inside brackets are left out.
 * Takes time linear in the source. Throws LanguageError.
 */
export function tokenize(program: string): Token[] {
  checkSource(program);
  const source = program.replace(/\r\n?/g, "\n");
  const positionOf = positions(source);
  const tokens: Token[] = [];
  let [start, depth] = [0, 0];
  do {
    next.lastIndex = start;
    const [matched = "", { length: skipped } = "", name, number, quotes, strange] = next.exec(source) ?? [];
    const at = positionOf(start + skipped);
    const text = matched.slice(skipped);
    start += matched.length;
    if (strange !== undefined) throw new LanguageError(at, `${text} has no meaning here.`);
    if (name !== undefined) tokens.push({ kind: "name", text, value: name, at });
    else if (number !== undefined) tokens.push({ kind: "number", text, value: readNumber(text, at), at });
    else if (quotes !== undefined) {
      const end = endOfString(source, start, quotes);
      if (end < 0) throw new LanguageError(at, `This string is not closed: its second ${quotes} is missing.`);
      const from = start;
      const value = unescape(source.slice(from, end), (offset) => positionOf(from + offset));
      start = end + quotes.length;
      tokens.push({ kind: "string", text: source.slice(from - quotes.length, start), value, at });
    } else {
      if (/[([{]/.test(text)) depth += 1;
      if (/[)\]}]/.test(text)) depth -= 1;
      if (text !== "\n" || depth <= 0) tokens.push({ kind: text, text, value: text, at });
    }
  } while (tokens.at(-1)?.kind !== "");
  return tokens;
}

function checkSource(source: string): void {
  const at = { line: 1, column: 1 };
  if (Buffer.byteLength(source) > sourceLimitBytes) {
    throw new LanguageError(at, `A program holds ${sourceLimitBytes} bytes at most.`, { code: "source_too_large" });
  }
  if (!source.isWellFormed()) throw new LanguageError(at, "Half a surrogate pair is no character.");
}

/** Positions of ever later offsets: what was walked over once is not walked over again. */
function positions(source: string): (offset: number) => Position {
  let [walked, line, column] = [0, 1, 1];
  return (offset) => {
    for (; walked < offset; walked += 1) {
      const unit = source.charCodeAt(walked);
      if (unit === 10) [line, column] = [line + 1, 1];
      else if (unit < 0xdc00 || unit > 0xdfff) column += 1;
    }
    return { line, column };
  };
}

/** Where the closing quotes of a string stand that begins at `start`; -1 when there are none. */
function endOfString(source: string, start: number, quotes: string): number {
  for (let end = start; end < source.length; end += source[end] === "\\" ? 2 : 1) {
    if (source.startsWith(quotes, end)) return end;
    if (source[end] === "\n" && quotes.length === 1) return -1;
  }
  return -1;
}

function readNumber(digits: string, at: Position): number {
  const value = Number(digits);
  const fault = (message: string) => new LanguageError(at, message);
  if (/^0\d|[^\d.eE+-]/.test(digits) || Number.isNaN(value)) throw fault("This is no number: text needs quotes.");
  if (!Number.isFinite(value)) throw fault("This number is too large.");
  if (/^\d+$/.test(digits) && !Number.isSafeInteger(value)) {
    throw fault("Integers end at 9007199254740991 (2^53 - 1): longer ones need quotes.");
  }
  return value;
}

const escapes = /\\(?:([abfnrtv\\'"\n])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|)/g;
const letters = new Map(Object.entries({ a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\n": "" }));

/** Resolves the escapes of the Starlark specification ("String literals"): `\x` and octal ones end at 7f. */
function unescape(body: string, positionOf: (offset: number) => Position): string {
  return body.replace(escapes, (_, letter?: string, octal?: string, byte?: string, ...more: (string | undefined)[]) => {
    if (letter !== undefined) return letters.get(letter) ?? letter;
    const [short, long, offset] = more;
    const point = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8);
    const last = (short ?? long) ? 0x10ffff : 0x7f;
    if (point <= last && (point < 0xd800 || point > 0xdfff)) return String.fromCodePoint(point);
    throw new LanguageError(
      positionOf(Number(offset)),
      "This is no escape: write \\\\ for a backslash, \\u00e9 or \\U0001f600 for a character.",
    );
  });
}
