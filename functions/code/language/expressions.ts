import { readDict, readFormat, readIndex, readList, readParenthesized } from "./displays.ts";
import { LanguageError } from "./mistake.ts";
import { constants } from "./names.ts";
import { at, expected, fault, nested, peek, readBracketed, take, takeName, type Reader } from "./reader.ts";
import { clip, says } from "./sentences.ts";
import type { Argument, Expression, Operation, Position, Step } from "./syntax.ts";
import { builtinHintOf, methodHintOf } from "./value-hints.ts";

export const callLimit = 200;

/** How tightly operators bind, as in Starlark; `not` stands between `and` and the comparisons, which do not chain. */
const [negation, comparison, sign] = [3, 4, 6];
const levels = new Map([
  ["or", 1],
  ["and", 2],
  ...["==", "!=", "<", "<=", ">", ">=", "in", "not in"].map((sign): [string, number] => [sign, comparison]),
  ["+", 5],
]);

function operatorOf(reader: Reader): string {
  const { kind } = peek(reader);
  return kind === "not" && peek(reader, 1).kind === "in" ? "not in" : kind;
}

/** Reads an expression whose operators bind at least as tightly as `least`. */
export function readExpression(reader: Reader, least = 1): Expression {
  let left = readOperand(reader, least);
  for (;;) {
    const operator = operatorOf(reader);
    const level = levels.get(operator) ?? 0;
    if (operator === "-") throw fault(reader, says.subtraction);
    if (level < least) return left;
    reader.next += operator === "not in" ? 2 : 1;
    const right = readExpression(reader, level + 1);
    if (left.kind === "operation" && left.operator === operator && level !== comparison) left.operands.push(right);
    else {
      const kind = operator as Operation["operator"];
      left = { kind: "operation", operator: kind, operands: [left, right], at: left.at };
    }
    if (level === comparison && levels.get(operatorOf(reader)) === comparison) throw fault(reader, says.chain);
  }
}

function readOperand(reader: Reader, least: number): Expression {
  const { kind, at } = peek(reader);
  if (kind === "-" || (kind === "not" && least <= negation)) {
    return nested(reader, () => {
      take(reader);
      const of = readExpression(reader, kind === "-" ? sign : negation);
      const isNumber = kind === "-" && of.kind === "literal" && typeof of.value === "number";
      return isNumber
        ? { kind: "literal", value: 0 - Number(of.value), at }
        : { kind: "unary", operator: kind, of, at };
    });
  }
  return readSteps(reader, readPrimary(reader));
}

function readPrimary(reader: Reader): Expression {
  const { kind, value, at } = peek(reader);
  switch (kind) {
    case "string":
    case "number":
      take(reader);
      return { kind: "literal", value, at };
    case "format":
      return readFormat(reader);
    case "[":
      return readList(reader);
    case "{":
      return readDict(reader);
    case "(":
      return readParenthesized(reader);
    case "name":
      return readName(reader);
    default:
      throw expected(reader, "a value or a call");
  }
}

/** Reads a constant, a variable, or a call: names with dots between them count as its function's only before a `(`. Of those
 * names one is a word that Starlark reserves, `dns_records.import`. */
function readName(reader: Reader): Expression {
  const { text, at: place } = peek(reader);
  const constant = constants.get(text);
  if (constant !== undefined) {
    take(reader);
    return { kind: "literal", value: constant, at: place };
  }
  const start = reader.next;
  const parts = [takeName(reader)];
  while (at(reader, ".") && /^(?:name|reserved)$/.test(peek(reader, 1).kind)) {
    take(reader);
    parts.push(at(reader, "reserved") ? take(reader).text : takeName(reader));
  }
  if (at(reader, "(")) {
    const name = parts.join(".");
    return name === "len" || name === "range" ? readBuiltin(reader, name, place) : readCall(reader, name, place);
  }
  reader.next = start + 1;
  return { kind: "name", name: text, at: place };
}

/** Reads the members and indexes after a value. */
function readSteps(reader: Reader, of: Expression): Expression {
  const steps: Step[] = [];
  while (at(reader, ".", "[")) {
    const { kind, at: place } = peek(reader);
    if (kind === "[") {
      steps.push({ kind: "index", index: readIndex(reader), at: place });
      continue;
    }
    take(reader);
    const { kind: word, text, at: named } = peek(reader);
    if (word !== "name" && /^[a-z]+$/.test(text)) throw fault(reader, says.word(text));
    steps.push({ kind: "member", name: takeName(reader), at: named });
  }
  if (at(reader, "(")) {
    const last = steps.at(-1);
    throw fault(reader, last?.kind === "member" ? methodHintOf(last.name, "x") : says.notCallable);
  }
  return steps.length > 0 ? { kind: "path", of, steps, at: of.at } : of;
}

function readBuiltin(reader: Reader, kind: "len" | "range", place: Position): Expression {
  const items: Expression[] = [];
  readBracketed(reader, ")", () => {
    items.push(readExpression(reader));
    if (at(reader, "for")) throw fault(reader, says.generator);
  });
  const [of] = items;
  if (!of || items.length > 1) throw new LanguageError(place, says.one(kind));
  return { kind, of, at: place };
}

function readCall(reader: Reader, name: string, at: Position): Expression {
  reader.calls += 1;
  if (reader.calls > callLimit) throw new LanguageError(at, says.calls(callLimit), { code: "too_many_calls" });
  const args: Argument[] = [];
  const known = new Set<string>();
  readBracketed(reader, ")", () => {
    const { kind, text, at } = peek(reader);
    const following = peek(reader, 1).kind;
    if (kind === "name" && following === ":") throw fault(reader, says.arrow(clip(text)));
    const argument = kind === "name" && following === "=" ? takeName(reader) : "";
    if (known.has(argument)) throw new LanguageError(at, says.twice(clip(argument)));
    if (argument !== "") {
      known.add(argument);
      take(reader);
    } else if (!/^(name|string|format|number|not|[[{(-])$/.test(kind)) throw expected(reader, "`name=value` or `)`");
    args.push({ name: argument, value: readExpression(reader), at });
    if (peek(reader).kind === "for") throw fault(reader, builtinHintOf(name) ?? says.generator);
  });
  return { kind: "call", name, args, at };
}
