import type { Position } from "./ast.ts";

/** What is wrong with a program, and where. */
export type Mistake = {
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
  also?: Mistake[];
};

/** The only error that lexer and parser throw. */
export class LanguageError extends Error {
  readonly mistake: Mistake;

  constructor(at: Position, message: string, more: Partial<Mistake> = {}) {
    super(message);
    this.mistake = { code: "syntax_error", message, at, ...more };
  }
}
