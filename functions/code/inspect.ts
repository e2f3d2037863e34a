import type { Catalogue, CodeFunction } from "./code-function.ts";
import { clip, type Mistake } from "./mistake.ts";
import { nearest } from "./nearest.ts";
import { boundOf, pageSizeOf, unitsOf } from "./score.ts";
import { isPage, itemShape, memberShape, outputOf, type Shape, type Stepped } from "./shape.ts";
import type { Call, Comprehension, Expression, Name, Path, Position, Statement } from "./syntax.ts";
import { unknownFunction } from "./unknown-function.ts";
import { among } from "./value.ts";
import { partsOf, written } from "./walk.ts";

/** What a program is checked against. */
export type Surroundings = {
  catalogue: Catalogue;
  /** The variables of the session, those that are no longer there with the reason; undefined without a session. */
  session?: ReadonlyMap<string, string | undefined> | undefined;
  readOnly?: boolean | undefined;
};

type Variable = { place: number | undefined; shape: Shape; secret: boolean };
/** Of more mistakes than these only the number is told: what would mend them is not looked for. */
const mendedMistakes = 5;

/** The names of comprehensions around an expression. */
type Bound = ReadonlyMap<string, Shape>;

/** Walks over the statements of a program in their order, and notes what is wrong with them and what they may cost. */
export class Inspection {
  readonly mistakes: Mistake[] = [];
  /** What the calls so far count together at most. */
  units = 0;
  readonly #surroundings: Surroundings;
  readonly #variables = new Map<string, Variable>();
  #needs = new Map<string, number | undefined>();
  #isSecret = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    for (const [name, gone] of surroundings.session ?? []) {
      if (gone === undefined) this.#variables.set(name, { place: undefined, shape: {}, secret: false });
    }
  }

  /** What a statement needs of those before it, and whether its value may hold a secret. */
  statement({ target, value }: Statement, place: number): { needs: Map<string, number | undefined>; secret: boolean } {
    this.#needs = new Map();
    this.#isSecret = false;
    const shape = this.#shapeOf(value, new Map(), 1);
    if (target !== undefined) this.#variables.set(target, { place, shape, secret: this.#isSecret });
    return { needs: this.#needs, secret: this.#isSecret };
  }

  /** The function a call names, if it may be called here. */
  functionOf(call: Call): CodeFunction | undefined {
    const { catalogue, session, readOnly } = this.#surroundings;
    const fn = catalogue.get(call.name);
    if (!fn) {
      const mistake = () => unknownFunction(call, catalogue, (name) => this.#variables.has(name));
      if (this.mistakes.length < mendedMistakes) this.mistakes.push(mistake());
      else this.complain("unknown_function", call.at, () => "");
      return undefined;
    }
    const at = call.at;
    if (readOnly && fn.route.access === "write") {
      const message = `This program may only read, and ${call.name} changes something: send it where programs may write.`;
      this.mistakes.push({ code: "read_only", message, at });
    }
    if (fn.ofSession && !session) {
      this.mistakes.push({ code: "no_session", message: `${call.name} needs a session: send a session_id.`, at });
    }
    return fn;
  }

  #shapeOf(node: Expression, bound: Bound, factor: number): Shape {
    switch (node.kind) {
      case "name":
        return this.#variable(node, bound);
      case "path":
        return this.#follow(node, bound, factor);
      case "comprehension":
        return this.#comprehension(node, bound, factor);
      case "range":
        this.complain("misplaced_range", node.at, () => "range(n) stands only after the `in` of a comprehension.");
        return {};
      default: {
        for (const part of partsOf(node)) this.#shapeOf(part, bound, factor);
        if (node.kind === "list") return { most: node.items.length };
        return node.kind === "call" ? this.#call(node, factor) : {};
      }
    }
  }

  #call(call: Call, factor: number): Shape {
    const fn = this.#surroundings.catalogue.get(call.name);
    if (!fn) return {};
    const pageSize = pageSizeOf(call, fn);
    this.units += factor * unitsOf(fn, pageSize);
    this.#isSecret ||= fn.route.secret;
    return { ...outputOf(fn.route), ...(pageSize === undefined ? {} : { pageSize }) };
  }

  #variable({ name, at }: Name, bound: Bound): Shape {
    const shape = bound.get(name);
    if (shape) return shape;
    const variable = this.#variables.get(name);
    if (variable) {
      this.#needs.set(name, variable.place);
      this.#isSecret ||= variable.secret;
      return variable.shape;
    }
    this.complain("unknown_variable", at, () => this.#unknownVariable(name, bound));
    return {};
  }

  #unknownVariable(name: string, bound: Bound): string {
    const gone = this.#surroundings.session?.get(name);
    const meant = nearest(name, [...bound.keys(), ...this.#variables.keys()]);
    const isNamespace = [...this.#surroundings.catalogue.keys()].some((other) => other.startsWith(`${name}.`));
    const hint =
      gone !== undefined
        ? gone
        : meant !== undefined
          ? `Did you mean ${meant}?`
          : isNamespace
            ? `A call needs its arguments in brackets: \`${clip(name)}.list(account_id=…)\`.`
            : "Give it a value before this, or put text in quotes.";
    return `There is no variable ${clip(name)}. ${hint}`;
  }

  #follow(node: Path, bound: Bound, factor: number): Shape {
    let shape = this.#shapeOf(node.of, bound, factor);
    for (const [place, step] of node.steps.entries()) {
      const index = step.kind === "index" ? step.index : undefined;
      if (index) this.#shapeOf(index, bound, factor);
      const key = step.kind === "member" ? step.name : index?.kind === "literal" ? index.value : undefined;
      const stepped: Stepped =
        typeof key === "string" ? memberShape(shape, key) : typeof key === "number" ? itemShape(shape) : { shape: {} };
      shape =
        "shape" in stepped ? stepped.shape : this.#misstep(stepped, String(key), () => written(node, place), step.at);
    }
    return shape;
  }

  #misstep(
    stepped: { members: () => string[] } | { type: string },
    key: string,
    named: () => string,
    at: Position,
  ): Shape {
    const say = () => {
      const of = named();
      return "members" in stepped
        ? `${of} has no member ${clip(key)}.${among(key, stepped.members(), "members")}`
        : stepped.type === "list"
          ? `${of} is a list: write ${of}[0].${clip(key)}, or [x.${clip(key)} for x in ${of}].`
          : `${of} is a ${stepped.type}, which has no ${/^-?\d/.test(key) ? "item" : "member"} ${clip(key)}.`;
    };
    this.complain("no_such_member", at, say);
    return {};
  }

  #comprehension({ element, clauses }: Comprehension, outer: Bound, outerFactor: number): Shape {
    const bound = new Map(outer);
    let [factor, most] = [outerFactor, 1];
    for (const clause of clauses) {
      if (clause.kind === "if") this.#shapeOf(clause.test, bound, factor);
      else {
        const { over } = clause;
        const shape =
          over.kind === "range" ? this.#shapeOf(over.of, bound, factor) : this.#shapeOf(over, bound, factor);
        bound.set(clause.name, over.kind === "range" ? {} : this.#itemsOf(over, shape));
        const items = boundOf(over, over.kind === "range" ? {} : shape);
        factor *= items;
        most *= items;
      }
    }
    this.#shapeOf(element, bound, factor);
    return { most };
  }

  #itemsOf(over: Expression, shape: Shape): Shape {
    const stepped = itemShape(shape);
    if ("shape" in stepped) return stepped.shape;
    this.complain("type_error", over.at, () => {
      const of = written(over);
      const hint = isPage(shape) ? `: its items are in ${of}.items` : "";
      return `A comprehension goes over a list, and ${of} is none${hint}.`;
    });
    return {};
  }

  complain(code: string, at: Position, say: () => string): void {
    this.mistakes.push({ code, message: this.mistakes.length < mendedMistakes ? say() : "", at });
  }
}
