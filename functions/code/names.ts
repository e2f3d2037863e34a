import { LanguageError } from "./mistake.ts";
import { at, expected, fault, take, type Reader } from "./reader.ts";
import { says } from "./sentences.ts";
import type { Position } from "./syntax.ts";

export const constants = new Map([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null],
]);

/** Whether a name or key means something to a JavaScript object. */
export const isForbidden = (name: string): boolean => /^(__proto__|constructor|prototype)$/.test(name);

export function checkKey(name: string, at: Position): void {
  if (isForbidden(name)) throw new LanguageError(at, says.forbidden(name));
}

/** Takes a name that is no constant, and not forbidden. */
export function takeName(reader: Reader): string {
  if (!at(reader, "name")) throw expected(reader, "a name");
  const { text, at: place } = take(reader);
  if (constants.has(text)) {
    reader.next -= 1;
    throw fault(reader, says.constant(text));
  }
  checkKey(text, place);
  return text;
}
