import type { Position } from "./ast.ts";

/** A mistake in a program, with its position. */
export type Diagnostic = {
  /** Stable, snake_case. */
  code: string;
  /** One sentence that says how to mend it. */
  message: string;
  at: Position;
  /** The function whose parameters help to mend it. */
  function?: string;
  /** The body of the error that REST would answer for the same request. */
  detail?: unknown;
  /** Further mistakes of the same call. */
  also?: Diagnostic[];
};

/** The only error that lexer and parser throw. */
export class LanguageError extends Error {
  readonly diagnostic: Diagnostic;

  constructor(at: Position, message: string, more: Partial<Diagnostic> = {}) {
    super(message);
    this.diagnostic = { code: "syntax_error", message, at, ...more };
  }
}
