import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";

/**
 * The number of mistakes that get a full message. Further ones are only counted, since suggestions are costly to find.
 */
const mendedMistakes = 5;

/** The mistakes found in a program. */
export class DiagnosticList {
  readonly mistakes: Diagnostic[] = [];
  /** Keys of argument mistakes reported so far: one variable may be passed to many calls. */
  readonly #told = new Set<string>();

  /** Whether the next mistake still gets a full message. */
  get areMended(): boolean {
    return this.mistakes.length < mendedMistakes;
  }

  add(code: string, at: Position, say: () => string): void {
    this.mistakes.push({ code, message: this.areMended ? say() : "", at });
  }

  /** Adds a mistake unless the same one was added already. */
  tell(mistake: Diagnostic): void {
    const { at, code, detail } = mistake;
    const key = `${at.line}:${at.column} ${code} ${detail === undefined ? "" : JSON.stringify(detail)}`;
    if (!this.#told.has(key)) this.mistakes.push(mistake);
    this.#told.add(key);
  }
}
