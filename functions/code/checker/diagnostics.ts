import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";

/**
 * The number of mistakes that get a message. Further mistakes are only counted, because it takes long to find the
 * suggestions for a message.
 */
const detailedDiagnostics = 5;

/** The mistakes found in a program. */
export class DiagnosticList {
  readonly diagnostics: Diagnostic[] = [];

  /** Whether the next mistake gets a message. */
  get isDetailed(): boolean {
    return this.diagnostics.length < detailedDiagnostics;
  }

  /** Adds a mistake. `messageOf` is called only if the mistake gets a message. */
  add(code: string, at: Position, messageOf: () => string): void {
    this.diagnostics.push({ code, message: this.isDetailed ? messageOf() : "", at });
  }
}
