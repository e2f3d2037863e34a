import { unfitArgument } from "./argument-mistakes.ts";
import { checkArguments } from "./arguments.ts";
import { whyNot } from "./callable.ts";
import type { CodeFunction } from "./code-function.ts";
import { misfitOf } from "./fit.ts";
import { itemLimit, tooManyItems } from "./machine.ts";
import { dictShape, listShape, operationShape, shapeOfType } from "./made-shapes.ts";
import { misstep, noVariable } from "./missteps.ts";
import type { Mistake } from "./mistake.ts";
import { boundOf, callsForTooMany, pageSizeOf, unitsOf } from "./score.ts";
import { isPage, itemShape, outputOf, type Shape } from "./shape.ts";
import { keyOf, leadingMembers, stepOf } from "./steps.ts";
import type { Call, Comprehension, Expression, Name, Operation, Path, Position, Statement } from "./syntax.ts";
import { unknownFunction } from "./unknown-function.ts";
import { noOrder, noSum, typeOf } from "./value.ts";
import { Variables, type Bound, type Surroundings } from "./variables.ts";
import { partsOf, written } from "./walk.ts";

/** Of more mistakes than these only the number is told: what would mend them is not looked for. */
const mendedMistakes = 5;

/** Walks over the statements of a program in their order, and notes what is wrong with them and what they may cost. */
export class Inspection {
  readonly mistakes: Mistake[] = [];
  /** What the calls so far count together at most. */
  units = 0;
  readonly #surroundings: Surroundings;
  readonly #variables: Variables;
  /** The mistakes of arguments that were told: a variable may be an argument often. */
  readonly #told = new Set<string>();
  #needs = new Map<string, number | undefined>();
  #isSecret = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#variables = new Variables(surroundings);
  }

  /** What a statement needs of those before it, and whether its value may hold a secret. */
  statement({ target, value }: Statement, place: number): { needs: Map<string, number | undefined>; secret: boolean } {
    this.#needs = new Map();
    this.#isSecret = false;
    const shape = this.#shapeOf(value, new Map(), 1);
    if (target !== undefined) this.#variables.assign(target, value, { place, shape, secret: this.#isSecret });
    return { needs: this.#needs, secret: this.#isSecret };
  }

  /** The function a call names, if it may be called here. */
  #functionOf(call: Call, bound: Bound): CodeFunction | undefined {
    const { catalogue } = this.#surroundings;
    const fn = catalogue.get(call.name);
    if (!fn) {
      const isVariable = (name: string) => bound.has(name) || this.#variables.get(name) !== undefined;
      if (this.mistakes.length < mendedMistakes) this.mistakes.push(unknownFunction(call, catalogue, isVariable));
      else this.complain("unknown_function", call.at, () => "");
      return undefined;
    }
    this.mistakes.push(...whyNot(call, fn, this.#surroundings));
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
      case "list":
        return listShape(
          node.items.map((item) => this.#shapeOf(item, bound, factor)),
          this.#variables.budget,
        );
      case "dict":
        return dictShape(
          node.members.map(({ key, value }) => {
            this.#shapeOf(key, bound, factor);
            return [key, this.#shapeOf(value, bound, factor)];
          }),
        );
      case "operation":
        return this.#operation(node, bound, factor);
      case "call":
        return this.#call(node, bound, factor);
      default:
        for (const part of partsOf(node)) this.#shapeOf(part, bound, factor);
        if (node.kind === "literal") return shapeOfType(typeOf(node.value));
        if (node.kind === "unary") return shapeOfType(node.operator === "-" ? "number" : "boolean");
        return shapeOfType(node.kind === "format" ? "string" : "number");
    }
  }

  #operation({ operator, operands, at }: Operation, bound: Bound, factor: number): Shape {
    const shapes = operands.map((operand) => this.#shapeOf(operand, bound, factor));
    const { shape, clash } = operationShape(operator, shapes, this.#variables.budget);
    if (clash) this.complain("type_error", at, () => (operator === "+" ? noSum : noOrder)(...clash));
    return shape;
  }

  #call(call: Call, bound: Bound, factor: number): Shape {
    const fn = this.#functionOf(call, bound);
    const checked = fn && checkArguments(call, fn, (node) => this.#variables.known(node, bound));
    for (const mistake of checked?.mistakes ?? []) this.#tell(mistake);
    for (const { name, value } of call.args) {
      const shape = this.#shapeOf(value, bound, factor);
      if (fn && checked?.open.has(name)) {
        const misfit = misfitOf(fn, name, shape, this.#variables.budget);
        if (misfit) this.#tell(unfitArgument(call, value, misfit));
      }
    }
    if (!fn) return {};
    const pageSize = pageSizeOf(fn, checked?.literals.get("page_size"));
    this.units += factor * unitsOf(fn, pageSize);
    this.#isSecret ||= fn.route.secret || !fn.route.kept;
    return { ...outputOf(fn.route), ...(pageSize === undefined ? {} : { pageSize }) };
  }

  #variable({ name, at }: Name, bound: Bound, members: readonly string[] = []): Shape {
    const shape = bound.get(name);
    if (shape) return shape;
    const variable = this.#variables.get(name);
    if (variable) {
      this.#needs.set(name, variable.place);
      this.#isSecret ||= variable.secret;
      return variable.shape;
    }
    const { session, catalogue } = this.#surroundings;
    this.complain("unknown_variable", at, () => {
      const variables = [...bound.keys(), ...this.#variables.names()];
      return noVariable(name, members, { variables, gone: session?.get(name), catalogue });
    });
    return {};
  }

  #follow(node: Path, bound: Bound, factor: number): Shape {
    const { of, steps } = node;
    let shape =
      of.kind === "name" ? this.#variable(of, bound, leadingMembers(steps)) : this.#shapeOf(of, bound, factor);
    for (const [place, step] of steps.entries()) {
      if (step.kind === "index") this.#shapeOf(step.index, bound, factor);
      const key = keyOf(step);
      const stepped = stepOf(shape, key);
      shape = "shape" in stepped ? stepped.shape : {};
      if ("shape" in stepped) continue;
      this.complain("no_such_member", step.at, () => misstep(stepped, String(key), written(node, place)));
    }
    return shape;
  }

  #comprehension(node: Comprehension, outer: Bound, outerFactor: number): Shape {
    const bound = new Map(outer);
    let [factor, most] = [outerFactor, 1];
    for (const [place, clause] of node.clauses.entries()) {
      if (clause.kind === "if") this.#shapeOf(clause.test, bound, factor);
      else {
        const { over } = clause;
        const shape = this.#shapeOf(over.kind === "range" ? over.of : over, bound, factor);
        bound.set(clause.name, over.kind === "range" ? shapeOfType("number") : this.#itemsOf(over, shape));
        const items = boundOf(over, over.kind === "range" ? {} : shape);
        // A call is made for no more items than that: a comprehension that goes over more of them fails.
        factor *= Math.min(items, itemLimit);
        most *= items;
        if (callsForTooMany(node, place)) this.complain("too_many_items", clause.at, () => tooManyItems(items));
      }
    }
    const item = this.#shapeOf(node.element, bound, factor);
    return { type: "list", most, item };
  }

  #itemsOf(over: Expression, shape: Shape): Shape {
    const stepped = itemShape(shape);
    if ("shape" in stepped) return stepped.shape;
    this.complain("type_error", over.at, () => {
      const of = written(over);
      const hint = isPage(shape) ? `: its items are in ${of}.items` : "";
      const type = "type" in stepped ? stepped.type : "dict";
      return `A comprehension goes over a list, and ${of} is a ${type}${hint}.`;
    });
    return {};
  }

  #tell(mistake: Mistake): void {
    const { at, code, detail } = mistake;
    const key = `${at.line}:${at.column} ${code} ${detail === undefined ? "" : JSON.stringify(detail)}`;
    if (!this.#told.has(key)) this.mistakes.push(mistake);
    this.#told.add(key);
  }

  complain(code: string, at: Position, say: () => string): void {
    this.mistakes.push({ code, message: this.mistakes.length < mendedMistakes ? say() : "", at });
  }
}
