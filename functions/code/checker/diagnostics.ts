import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";

/**
 * The number of mistakes that get a full message. Further mistakes are only counted, because suggestions take long to
 * find.
 */
const detailedDiagnostics = 5;

/** The mistakes found in a program. */
export class DiagnosticList {
  readonly diagnostics: Diagnostic[] = [];

  /** Whether the next mistake still gets a full message. */
  get isDetailed(): boolean {
    return this.diagnostics.length < detailedDiagnostics;
  }

  add(code: string, at: Position, say: () => string): void {
    this.diagnostics.push({ code, message: this.isDetailed ? say() : "", at });
  }
}
