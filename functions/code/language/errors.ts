import type { Position } from "./ast.ts";

/** What is wrong with a program, and where. */
export type Diagnostic = {
  /** Stable, snake_case. */
  code: string;
  /** One sentence that says how to mend it. */
  message: string;
  at: Position;
  /** The function whose parameters help to mend it. */
  function?: string;
  /** What the same request over REST would be told in its body. */
  detail?: unknown;
  /** What else is wrong with the same call. */
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
