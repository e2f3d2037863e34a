import { isKept } from "../../../shared/kept-number.ts";
import { LanguageError } from "./mistake.ts";
import { says } from "./sentences.ts";
import type { Position } from "./syntax.ts";

/** Where the closing quotes of a string stand that begins at `start`; -1 when there are none before `limit`. */
export function endOfString(source: string, start: number, limit: number, quotes: string): number {
  for (let end = start; end + quotes.length <= limit; end += source[end] === "\\" ? 2 : 1) {
    if (source.startsWith(quotes, end)) return end;
    if (source[end] === "\n" && quotes.length === 1) return -1;
  }
  return -1;
}

export function readNumber(digits: string, at: Position): number {
  const value = Number(digits);
  const fault = (message: string) => new LanguageError(at, message);
  if (/^0\d|[^\d.eE+-]/.test(digits) || Number.isNaN(value)) throw fault(says.noNumber);
  if (!Number.isFinite(value)) throw fault(says.large);
  if (/^\d+$/.test(digits) && !Number.isSafeInteger(value)) {
    throw fault(says.integer);
  }
  if (!isKept(digits)) throw fault(says.precise);
  return value;
}

const escapes = /\\(?:([abfnrtv\\'"\n])|([0-7]{1,3})|x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|)/g;
const letters = new Map(Object.entries({ a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\n": "" }));

/** Resolves the escapes of the Starlark specification ("String literals"): `\x` and octal ones end at 7f. */
export function unescape(body: string, positionOf: (offset: number) => Position): string {
  return body.replace(escapes, (_, letter?: string, octal?: string, byte?: string, ...more: (string | undefined)[]) => {
    if (letter !== undefined) return letters.get(letter) ?? letter;
    const [short, long, offset] = more;
    const point = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8);
    const last = (short ?? long) ? 0x10ffff : 0x7f;
    if (point <= last && (point < 0xd800 || point > 0xdfff)) return String.fromCodePoint(point);
    throw new LanguageError(positionOf(Number(offset)), says.escape);
  });
}
