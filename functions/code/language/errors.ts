import type { Position } from "./ast.ts";

/** A mistake in a program, with its position. */
export type Diagnostic = {
  /** The stable code of the mistake, in snake_case. */
  code: string;
  /** The mistake in words, and how to correct it. */
  message: string;
  at: Position;
  /** The function whose signature and parameters are shown together with the mistake. */
  function?: string;
  /** What REST would answer for the same request: the body of a problem, or the list of errors in the body of a 422. */
  detail?: unknown;
  /** Further mistakes of the same call. */
  also?: Diagnostic[];
};

/**
 * The codes of the mistakes and limits of code mode. A call that the API refuses has a code of the REST API instead.
 * `docs/code-mode.md` explains each code.
 */
export const programErrorCodes = [
  "cancelled",
  "invalid_argument",
  "missing_argument",
  "nesting_too_deep",
  "no_effect",
  "no_session",
  "no_such_member",
  "out_of_time",
  "positional_argument",
  "read_only",
  "result_too_large",
  "score_too_high",
  "source_too_large",
  "syntax_error",
  "too_many_calls",
  "too_much_work",
  "type_error",
  "unknown_argument",
  "unknown_function",
  "unknown_value",
  "unknown_variable",
  "value_error",
  "value_too_large",
] as const;

/** The error for a mistake in a program, for an exceeded limit and for a cancelled program. */
export class LanguageError extends Error {
  readonly diagnostic: Diagnostic;

  constructor(at: Position, message: string, more: Partial<Diagnostic> = {}) {
    super(message);
    this.diagnostic = { code: "syntax_error", message, at, ...more };
  }
}

/**
 * The number of mistakes after which `add` leaves out the message, because it takes long to find the suggestions for a
 * message.
 */
const detailedDiagnostics = 5;

/** The mistakes found in a program. */
export class DiagnosticList {
  readonly diagnostics: Diagnostic[] = [];

  /** Whether the next mistake gets a message from `add`. */
  get isDetailed(): boolean {
    return this.diagnostics.length < detailedDiagnostics;
  }

  /** Adds a mistake. Calls `messageOf` only if `isDetailed`. Otherwise the message is empty. */
  add(code: string, at: Position, messageOf: () => string): void {
    this.diagnostics.push({ code, message: this.isDetailed ? messageOf() : "", at });
  }
}
