import type { Expression, Operation } from "../language/syntax.ts";
import { partsOf } from "../language/walk.ts";
import type { Shape, Stepped } from "./shape.ts";

/**
 * What decides whether a part of a program is evaluated: conditions and comprehensions around it. Programs ask first for
 * what may not be there, so what they asked about is not held against them.
 */
export class Guards {
  readonly #around: (readonly string[])[] = [];
  readonly #mentioned = new Map<string, number>();
  readonly #tested = new Set<string>();

  /** Whether what stands here is evaluated, whatever the run brings. */
  get isCertain(): boolean {
    return this.#around.length === 0;
  }

  /** Enters what is evaluated only as a condition says; without one, as often as a list has items. */
  enter(condition?: Expression): void {
    const names = condition ? namesIn(condition) : [];
    for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) + 1);
    this.#around.push(names);
  }

  /** Leaves the last `count` of what was entered. */
  leave(count: number): void {
    for (const names of this.#around.splice(this.#around.length - count)) {
      for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) - 1);
    }
  }

  /** Notes that the program asks whether a key is in something. */
  note({ operator, operands: [key] }: Operation): void {
    if (key?.kind !== "literal" || (operator !== "in" && operator !== "not in")) return;
    this.#tested.add(String(key.value));
  }

  /** Whether a condition around this looks at a variable. */
  mentions(node: Expression): boolean {
    const of = node.kind === "path" ? node.of : node;
    return of.kind === "name" && (this.#mentioned.get(of.name) ?? 0) > 0;
  }

  /** Whether a step that cannot be made into a value of this shape may never be asked for. */
  allow(stepped: Stepped, shape: Shape, of: Expression, key: string | number | undefined): boolean {
    if (shape.none || "length" in stepped) return !this.isCertain;
    if (shape.type !== undefined && "type" in stepped) return this.mentions(of);
    if (!shape.members || !("members" in stepped)) return false;
    return this.#tested.has(String(key)) || this.mentions(of);
  }
}

/** The names in an expression. */
function namesIn(node: Expression, names: string[] = []): string[] {
  if (node.kind === "name") names.push(node.name);
  else for (const part of partsOf(node)) namesIn(part, names);
  return names;
}
