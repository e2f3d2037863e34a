import { keepsDigits } from "../../../shared/core/number.ts";
import type { Position } from "./ast.ts";
import { LanguageError } from "./errors.ts";
import { signHintOf, suffixFaultAt } from "./hints.ts";
import { sourceLimitBytes } from "./limits.ts";
import { messages } from "./messages.ts";

/**
 * Finds the closing quotes of a string whose text begins at `start`; -1 if there are none before `limit`. A string that
 * begins with one quote mark must also end on its line.
 */
function endOfString(source: string, start: number, limit: number, quotes: string): number {
  for (let end = start; end + quotes.length <= limit; end += source[end] === "\\" ? 2 : 1) {
    if (source.startsWith(quotes, end)) return end;
    if (source[end] === "\n" && quotes.length === 1) return -1;
  }
  return -1;
}

function readNumber(digits: string, at: Position): number {
  const value = Number(digits);
  const fault = (message: string) => new LanguageError(at, message);
  if (/^0\d|[^\d.eE+-]/.test(digits) || Number.isNaN(value)) throw fault(messages.noNumber);
  if (!Number.isFinite(value)) throw fault(messages.large);
  if (/^\d+$/.test(digits) && !Number.isSafeInteger(value)) {
    throw fault(messages.integer);
  }
  if (!keepsDigits(digits)) throw fault(messages.precise);
  return value;
}

const escapes = /\\(?:([abfnrtv\\'"\n])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|)/g;
const letters = new Map(Object.entries({ a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\n": "" }));

/** Resolves the escapes of the Starlark specification ("String literals"). `\x` and octal escapes go up to 7f. */
function unescape(body: string, positionOf: (offset: number) => Position): string {
  return body.replace(escapes, (_, letter?: string, octal?: string, byte?: string, ...more: (string | undefined)[]) => {
    if (letter !== undefined) return letters.get(letter) ?? letter;
    const [short, long, offset] = more;
    const point = Number.parseInt(octal ?? byte ?? short ?? long ?? "", octal === undefined ? 16 : 8);
    const highest = (short ?? long) ? 0x10ffff : 0x7f;
    if (point <= highest && (point < 0xd800 || point > 0xdfff)) return String.fromCodePoint(point);
    throw new LanguageError(positionOf(Number(offset)), messages.escape);
  });
}

/**
 * A token. `kind` is one of these:
 * - `name`, `string`, `format`, `number` or `reserved`;
 * - the text of a keyword or operator, such as `for` or `<=`;
 * - "\n" at the end of a line, and "" at the end of the program or of a value in an f-string.
 *
 * The `parts` of a `format` are its texts, and for each value a list of tokens.
 */
export type Token = { kind: string; text: string; value: string | number; parts?: (string | Token[])[]; at: Position };

const gapPattern = /((?:[ \t]|\\\n|#[^\n]*)*)/;
const quotesPattern = /(?:(?!(?:in|or|if)["'])([A-Za-z]{0,2})("""|'''|["']))/;
const namePattern = /([A-Za-z_]\w*)/;
const numberPattern = /((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\w*)/;
const foreignPattern = /(```|===|!==|=>|->|:=|&&|\|\||\?\.|\*\*|(?:\/\/|[-+*/%])=)/;
const signPattern = /[=!<>]=|\/\/|[()[\]{},:;.=\n+*%<>-]/;
const kinds = [quotesPattern, namePattern, numberPattern, foreignPattern, signPattern, /([^])/, /$/];
/** Matches white space and comments, and then one token. */
const nextToken = new RegExp(`${gapPattern.source}(?:${kinds.map(({ source }) => source).join("|")})`, "uy");

const keywords = /^(?:and|or|not|in|for|if|else)$/;
/** The lines of a Markdown fence around a program. */
const [fence, fenceEnd] = [/^\s*```\w*[ \t]*(?=\n)/, /\n[ \t]*```\s*$/];
/** The words that Starlark reserves ("Lexical elements") and this language does not use. */
const reserved =
  /^(?:load|break|continue|def|pass|elif|return|lambda|while|as|assert|async|await|class|del|except|finally|from|global|import|is|nonlocal|raise|try|with|yield)$/;

function kindOfName(name: string): string {
  if (keywords.test(name)) return name;
  return reserved.test(name) ? "reserved" : "name";
}

/** The program's text, the offset of the next token in the text, and the function that converts offsets. */
type Scan = { source: string; start: number; positionOf: (offset: number) => Position };

/**
 * Splits a program into tokens. The last token marks the end of the program.
 * - Line ends inside brackets, and a Markdown fence around the whole program, are left out.
 * - Takes time linear in the length of the source.
 * - Throws LanguageError.
 */
export function tokenize(program: string): Token[] {
  const start = { line: 1, column: 1 };
  if (Buffer.byteLength(program) > sourceLimitBytes) {
    throw new LanguageError(start, messages.bytes(sourceLimitBytes), { code: "source_too_large" });
  }
  if (!program.isWellFormed()) throw new LanguageError(start, messages.surrogate);
  const lines = program.replace(/\r\n?/g, "\n");
  // Spaces take the place of the opening fence, so that the positions of the program stay right.
  const isFenced = fence.test(lines) && fenceEnd.test(lines);
  const source = isFenced ? lines.replace(fence, (text) => text.replace(/\S/g, " ")).replace(fenceEnd, "\n") : lines;
  return scan({ source, start: 0, positionOf: positions(source) }, source.length);
}

/**
 * Reads the tokens up to `end`. With `within`, reads one value of an f-string: from the brace at `within` up to the
 * brace that closes the value.
 */
function scan(state: Scan, end: number, within?: Position): Token[] {
  const { source, positionOf } = state;
  const tokens: Token[] = [];
  let depth = within ? 1 : 0;
  do {
    nextToken.lastIndex = state.start;
    const [matched = "", { length: skipped } = "", prefix, quotes, name, number, foreign, strange] =
      nextToken.exec(source) ?? [];
    const begin = state.start + skipped;
    const text = matched.slice(skipped);
    state.start += matched.length;
    if (within && state.start > end) throw new LanguageError(within, messages.openBrace);
    const at = positionOf(begin);
    const unknownSign = foreign ?? strange;
    const suffixFault = within && depth === 1 && suffixFaultAt(source, begin);
    if (suffixFault) throw new LanguageError(at, suffixFault);
    if (unknownSign) {
      const before = tokens.map(({ kind }) => kind);
      throw new LanguageError(at, signHintOf(unknownSign, before) ?? messages.strange(unknownSign));
    }
    if (quotes) tokens.push(readString(state, within ? end : source.length, prefix ?? "", quotes, at));
    else if (name) tokens.push({ kind: kindOfName(name), text, value: name, at });
    else if (number) tokens.push({ kind: "number", text, value: readNumber(text, at), at });
    else {
      if (/[([{]/.test(text)) depth += 1;
      if (/[)\]}]/.test(text)) depth -= 1;
      const kind = within && depth === 0 ? "" : text;
      if (kind !== "\n" || depth <= 0) tokens.push({ kind, text, value: text, at });
    }
  } while (tokens.at(-1)?.kind !== "");
  return tokens;
}

function readString(state: Scan, limit: number, prefix: string, quotes: string, at: Position): Token {
  const { source, positionOf, start: from } = state;
  if (prefix !== "" && prefix !== "f") throw new LanguageError(at, messages.prefix(prefix));
  const end = endOfString(source, from, limit, quotes);
  if (end < 0) throw new LanguageError(at, messages.open(quotes));
  const textBetween = (start: number, end: number): string =>
    unescape(source.slice(start, end), (offset) => positionOf(start + offset));
  const token: Token = prefix
    ? { kind: "format", text: "", value: "", parts: readParts(state, end, textBetween), at }
    : { kind: "string", text: "", value: textBetween(from, end), at };
  state.start = end + quotes.length;
  token.text = source.slice(from - quotes.length - prefix.length, state.start);
  return token;
}

/** Reads the texts and values of an f-string. `{{` and `}}` stand for braces. */
function readParts(
  state: Scan,
  end: number,
  textBetween: (start: number, end: number) => string,
): (string | Token[])[] {
  const { source, positionOf } = state;
  const parts: (string | Token[])[] = [];
  let { start } = state;
  for (let at = start; at <= end; at += 1) {
    // Empty at the end of the f-string.
    const char = at < end ? source.charAt(at) : "";
    if (char === "\\") at += 1;
    if (char !== "" && char !== "{" && char !== "}") continue;
    const isDoubled = char !== "" && source[at + 1] === char && at + 1 < end;
    // The first of two braces belongs to the text, and the second is skipped.
    const textEnd = isDoubled ? at + 1 : at;
    if (textEnd > start) parts.push(textBetween(start, textEnd));
    if (isDoubled) at += 1;
    else if (char === "}") throw new LanguageError(positionOf(at), messages.brace);
    else if (char === "{") {
      state.start = at + 1;
      parts.push(scan(state, end, positionOf(at)));
      at = state.start - 1;
    }
    start = at + 1;
  }
  return parts;
}

/** Converts increasing offsets to positions, and walks over the source only once. */
function positions(source: string): (offset: number) => Position {
  let [walked, line, column] = [0, 1, 1];
  return (offset) => {
    for (; walked < offset; walked += 1) {
      const unit = source.charCodeAt(walked);
      if (unit === 10) [line, column] = [line + 1, 1];
      // The second half of a surrogate pair is part of the same character.
      else if (unit < 0xdc00 || unit > 0xdfff) column += 1;
    }
    return { line, column };
  };
}
