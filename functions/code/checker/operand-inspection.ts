import { keyFault } from "../interpreter/operators.ts";
import type { Builtin, Dict, Expression, Position, Unary } from "../language/syntax.ts";
import type { Complaints } from "./complaints.ts";
import type { Guards } from "./guards.ts";
import type { Known } from "./known.ts";
import { dictShape, shapeOfType } from "./made-shapes.ts";
import { operandFault, rangeFault } from "./operand-shapes.ts";
import type { Shape } from "./shape.ts";
import type { Bound } from "./variables.ts";

/** Looks at what `len`, `range`, `-` and dicts are given, and notes what they never take. */
export class OperandInspection {
  readonly #known: Known;
  readonly #guards: Guards;
  readonly #complaints: Complaints;

  constructor(known: Known, guards: Guards, complaints: Complaints) {
    this.#known = known;
    this.#guards = guards;
    this.#complaints = complaints;
  }

  /** What `len`, `-` and `not` make of a value of this shape. */
  operand(node: Unary | Builtin, shape: Shape): Shape {
    const what = node.kind === "unary" ? node.operator : "len";
    if (what === "not") return shapeOfType("boolean");
    this.#note(node.at, shape, operandFault(what, shape));
    return shapeOfType("number");
  }

  /** The dict that a program writes; `shapeOf` looks at its keys and values. */
  dict({ members }: Dict, bound: Bound, shapeOf: (node: Expression) => Shape): Shape {
    const names = new Set<string>();
    return dictShape(
      members.map(({ key, value }) => {
        const shape = shapeOf(key);
        const constant = this.#known.constant(key, bound);
        const name = typeof constant === "string" ? constant : undefined;
        this.#note(key.at, shape, name === undefined ? operandFault("key", shape) : keyFault(name, names));
        if (name !== undefined) names.add(name);
        return [name, shapeOf(value)];
      }),
    );
  }

  /** How far a range counts, as far as that is known. */
  count({ of }: Builtin, shape: Shape, bound: Bound): number | undefined {
    const count = this.#known.constant(of, bound);
    const wrong = rangeFault(count, shape);
    if (wrong) this.#complaints.add(wrong.code, of.at, () => wrong.message);
    return typeof count === "number" && !wrong ? count : undefined;
  }

  #note(at: Position, { none }: Shape, wrong: string | undefined): void {
    if (wrong === undefined || (none && !this.#guards.isCertain)) return;
    this.#complaints.add("type_error", at, () => wrong);
  }
}
