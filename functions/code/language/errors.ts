import type { Position } from "./ast.ts";

/** A mistake in a program, with its position. */
export type Diagnostic = {
  /** The stable code of the mistake, in snake_case. */
  code: string;
  /** The mistake in words, and how to correct it. */
  message: string;
  at: Position;
  /** The function whose parameters the caller needs to correct the mistake. */
  function?: string;
  /** The body of the error that REST would answer for the same request. */
  detail?: unknown;
  /** Further mistakes of the same call. */
  also?: Diagnostic[];
};

/** The error that the lexer, the parser and the interpreter throw for a mistake in a program. */
export class LanguageError extends Error {
  readonly diagnostic: Diagnostic;

  constructor(at: Position, message: string, more: Partial<Diagnostic> = {}) {
    super(message);
    this.diagnostic = { code: "syntax_error", message, at, ...more };
  }
}
