import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";

/** Of more mistakes than these only the number is told: what would mend them is not looked for. */
const mendedMistakes = 5;

/** What is wrong with a program. */
export class DiagnosticList {
  readonly mistakes: Diagnostic[] = [];
  /** The mistakes of arguments that were told: a variable may be an argument often. */
  readonly #told = new Set<string>();

  /** Whether what would mend another mistake is still told. */
  get areMended(): boolean {
    return this.mistakes.length < mendedMistakes;
  }

  add(code: string, at: Position, say: () => string): void {
    this.mistakes.push({ code, message: this.areMended ? say() : "", at });
  }

  /** Adds a mistake, if it was not told before. */
  tell(mistake: Diagnostic): void {
    const { at, code, detail } = mistake;
    const key = `${at.line}:${at.column} ${code} ${detail === undefined ? "" : JSON.stringify(detail)}`;
    if (!this.#told.has(key)) this.mistakes.push(mistake);
    this.#told.add(key);
  }
}
