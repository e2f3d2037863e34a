import { stepLimit } from "../language/limits.ts";
import { checkKey } from "../language/names.ts";
import { calculate } from "./arithmetic.ts";
import { type StepBudget, sizeOf, tooMuchWork, useSteps } from "./budget.ts";
import type { Builtin, InvalidArgument, BuiltinParameter, BuiltinRun, StaticArgument } from "./builtin.ts";
import { lengthOf, quote } from "./texts.ts";
import { type StaticType, commonType, elementOf, memberType, pairType, plainType, wrongType } from "./types.ts";
import {
  type Constant,
  cannotOrder,
  cannotUseKey,
  dictOf,
  didYouMean,
  formatConstant,
  isLess,
  isTrue,
  memberOf,
  typeError,
  typeOf,
  valueError,
} from "./values.ts";

const xs: BuiltinParameter = { name: "xs", types: ["list", "dict"], iterated: true };
const wholeNumber: BuiltinParameter = { name: "n", types: ["number"], takes: "a whole number" };
const otherValues: BuiltinParameter = { name: "others", rest: true };

const numberType = () => plainType("number");
const booleanType = () => plainType("boolean");
const stringType = () => plainType("string");
/** The type of a list with the same items as the argument, in any order. */
const sameItems = ([xs]: readonly (StaticArgument | undefined)[]): StaticType => listOf(xs, elementOf(xs?.type));

function listOf(xs: StaticArgument | undefined, item: StaticType): StaticType {
  const most = xs?.type.most;
  return { type: "list", item, ...(most === undefined ? {} : { most }) };
}

/** Reads the items of a list or the keys of a dict, and uses `steps` steps for each. */
function readItems(value: unknown, { budget, at }: BuiltinRun, steps = 1): unknown[] {
  const items: unknown[] = Array.isArray(value) ? value : Object.keys(value as object);
  useSteps(budget, items.length * steps, at);
  return items;
}

/** The functions of the language. */
export const functionTable: readonly Builtin[] = [
  {
    name: "len",
    parameters: [{ name: "x", types: ["string", "list", "dict"], iterated: true }],
    check: numberType,
    evaluate: ([x], { at, budget }) => (typeof x === "string" ? lengthOf(x, budget, at) : sizeOf(x).members),
  },
  {
    name: "range",
    parameters: [
      wholeNumber,
      { ...wholeNumber, name: "stop", optional: true },
      { ...wholeNumber, name: "step", optional: true },
    ],
    note: "which counts from 0 to n - 1, or from n to stop - 1",
    check: rangeType,
    evaluate: rangeOf,
  },
  {
    name: "sum",
    parameters: [{ name: "xs", types: ["list"], takes: "a list of numbers", iterated: true }],
    check: ([xs]) => {
      const item = elementOf(xs?.type);
      // An item that is None is no mistake: a condition may exclude it.
      const found = item.none ? undefined : wrongType(item, ["number"]);
      return found ? notNumbers(found) : plainType("number");
    },
    evaluate: ([xs], run) =>
      readItems(xs, run).reduce((total, x) => {
        if (typeof x !== "number") throw typeError(run.positionOf(0), notNumbers(typeOf(x)).message);
        return calculate("+", total, x, run.budget, run.at);
      }, 0),
  },
  extreme("min", (a, b, run) => isLess(a, b, run.budget, run.at)),
  extreme("max", (a, b, run) => isLess(b, a, run.budget, run.at)),
  {
    name: "sorted",
    parameters: [
      xs,
      { name: "key", types: ["string"], takes: 'the name of a member, key="name"', optional: true, named: true },
      { name: "reverse", types: ["boolean"], optional: true, named: true },
    ],
    check: ([xs, key]) => {
      const [item, name] = [elementOf(xs?.type), key?.literal];
      // Dicts that the program wrote (`members`) are not checked: a condition may select the dicts that have the
      // member.
      const member = typeof name === "string" && !item.members ? memberType(item, name) : { type: {} };
      if (!("members" in member)) return listOf(xs, item);
      const message = `An item has no member ${name}.${didYouMean(String(name), member.members())}`;
      return { code: "no_such_member", message, index: 1 };
    },
    evaluate: sort,
  },
  {
    name: "reversed",
    parameters: [xs],
    check: sameItems,
    evaluate: ([xs], run) => readItems(xs, run).toReversed(),
  },
  {
    name: "any",
    parameters: [xs],
    check: booleanType,
    evaluate: ([xs], run) => readItems(xs, run).some(isTrue),
  },
  {
    name: "all",
    parameters: [xs],
    check: booleanType,
    evaluate: ([xs], run) => readItems(xs, run).every(isTrue),
  },
  {
    name: "enumerate",
    parameters: [xs, { ...wholeNumber, name: "start", optional: true }],
    note: "the list of `[place, item]`",
    check: ([xs]) => listOf(xs, pairType([plainType("number"), elementOf(xs?.type)])),
    evaluate: ([xs, start = 0], run) => {
      const first = requireWhole("enumerate", start, run, 1);
      // Each item takes 3 steps: for the item, and for the place and the item in the new list.
      return readItems(xs, run, 3).map((x, index) => [calculate("+", first, index, run.budget, run.at), x]);
    },
  },
  {
    name: "zip",
    parameters: [{ ...xs, rest: true }],
    note: "the list of `[x, y]`, as long as the shortest",
    check: (lists) => {
      const most = Math.min(...lists.map((xs) => xs?.type.most ?? Number.POSITIVE_INFINITY));
      return {
        type: "list",
        item: pairType(lists.map((xs) => elementOf(xs?.type))),
        ...(Number.isFinite(most) ? { most } : {}),
      };
    },
    evaluate: (lists, run) => {
      const read = lists.map((xs) => readItems(xs, run));
      const count = read.length === 0 ? 0 : Math.min(...read.map(({ length }) => length));
      useSteps(run.budget, count * (read.length + 1), run.at);
      return Array.from({ length: count }, (_, index) => read.map((items) => items[index]));
    },
  },
  {
    name: "str",
    parameters: [{ name: "x" }],
    check: stringType,
    evaluate: ([x], { budget, at }) => {
      useSteps(budget, sizeOf(x).bytes >> 4, at);
      return typeof x === "string" ? x : writeSource(x);
    },
  },
  {
    name: "int",
    parameters: [{ name: "x", types: ["string", "number", "boolean"] }],
    check: numberType,
    evaluate: ([x], { positionOf, budget, at }) => {
      useSteps(budget, sizeOf(x).bytes >> 4, at);
      if (typeof x === "string" && !/^[+-]?\d+$/.test(x)) throw notReadable("int", "a whole number", x, positionOf(0));
      const value = Math.trunc(Number(x)) + 0;
      if (Number.isSafeInteger(value)) return value;
      throw valueError(positionOf(0), "Integers end at 9007199254740991 (2^53 - 1): keep this one as a text.");
    },
  },
  {
    name: "float",
    parameters: [{ name: "x", types: ["string", "number", "boolean"] }],
    check: numberType,
    evaluate: ([x], { positionOf, budget, at }) => {
      useSteps(budget, sizeOf(x).bytes >> 4, at);
      const isReadable = typeof x !== "string" || /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(x);
      if (isReadable && Number.isFinite(Number(x))) return Number(x) + 0;
      throw notReadable("float", "a number", String(x), positionOf(0));
    },
  },
  {
    name: "bool",
    parameters: [{ name: "x" }],
    check: booleanType,
    evaluate: ([x]) => isTrue(x),
  },
  {
    name: "list",
    parameters: [{ ...xs, optional: true }],
    check: ([xs]) => (xs ? sameItems([xs]) : { type: "list", most: 0 }),
    evaluate: ([xs = []], run) => [...readItems(xs, run)],
  },
  {
    name: "dict",
    parameters: [{ ...xs, name: "pairs", takes: "a list of `[key, value]`, or a dict", optional: true }],
    note: 'or `{"key": value}`',
    check: () => ({ type: "dict" }),
    evaluate: ([pairs = []], run) => {
      const items = readItems(pairs, run);
      return dictOf(Array.isArray(pairs) ? items.map((pair) => pairOf(pair, run)) : Object.entries(pairs as object));
    },
  },
];

const notNumbers = (found: string): InvalidArgument => ({
  code: "type_error",
  message: `sum takes a list of numbers, and an item is a ${found}${found === "string" ? ": convert it with float, as in sum([float(x) for x in xs])" : ""}.`,
  index: 0,
});

const notWhole = (name: string, given: number, index: number): InvalidArgument => ({
  code: "type_error",
  message: `${name} takes a whole number, not ${given}.`,
  index,
});

function requireWhole(name: string, given: unknown, { positionOf }: BuiltinRun, index: number): number {
  if (Number.isSafeInteger(given)) return Number(given);
  throw typeError(positionOf(index), notWhole(name, Number(given), index).message);
}

/** The number of items of a range from `start` up to `end`, without `end`. */
const countOf = (start: number, end: number, step: number): number => Math.max(0, Math.ceil((end - start) / step));

/** The start and the end of a range, from its first two arguments. */
const startAndEnd = <T>(n: T, stop: T | undefined, zero: T): [T, T] => (stop === undefined ? [zero, n] : [n, stop]);

const zeroStep = "The step of a range cannot be 0.";

function rangeType(args: readonly (StaticArgument | undefined)[]): StaticType | InvalidArgument {
  const item = plainType("number");
  const values = [0, 1, 2].map((index) => args[index]?.literal ?? undefined);
  const wrong = values.findIndex((value) => value !== undefined && !Number.isInteger(value));
  if (wrong >= 0) return notWhole("range", Number(values[wrong]), wrong);
  if (args.some((arg, index) => arg && values[index] === undefined)) return { type: "list", item };
  const [n = 0, stop, step = 1] = values.map((value) => (value === undefined ? undefined : Number(value)));
  if (step === 0) return { code: "value_error", message: zeroStep, index: 2 };
  const most = countOf(...startAndEnd(n, stop, 0), step);
  if (most > stepLimit) return { code: "too_much_work", message: tooMuchWork, index: 0 };
  return { type: "list", most, isExact: true, item };
}

function rangeOf([n, stop, step = 1]: readonly unknown[], run: BuiltinRun): number[] {
  const [start, end] = startAndEnd(
    requireWhole("range", n, run, 0),
    stop === undefined ? stop : requireWhole("range", stop, run, 1),
    0,
  );
  const increment = requireWhole("range", step, run, 2);
  if (increment === 0) throw valueError(run.positionOf(2), zeroStep);
  const count = countOf(start, end, increment);
  // This check comes before the list is made, so that a list that is too long takes no memory.
  if (count > run.budget.steps) useSteps(run.budget, count, run.positionOf(0));
  return Array.from({ length: count }, (_, index) => start + index * increment);
}

/**
 * Builds `min` or `max`. The result is the value that `isBefore` puts first. Of equal values, the result is the
 * earliest.
 */
function extreme(name: string, isBefore: (a: unknown, b: unknown, run: BuiltinRun) => boolean): Builtin {
  const takes = `${name} takes a list, or several values`;
  return {
    name,
    parameters: [{ name: "x", iterated: true }, otherValues],
    note: "of a list, or of several values",
    check: ([x, ...others]) => {
      if (others.length > 0) return others.map((other) => other?.type ?? {}).reduce(commonType, x?.type ?? {});
      const found = wrongType(x?.type ?? {}, ["list", "dict"]);
      return found ? { code: "type_error", message: `${takes}, not a ${found}.`, index: 0 } : elementOf(x?.type);
    },
    evaluate: (args, run) => {
      const [x] = args;
      if (args.length === 1 && !/list|dict/.test(typeOf(x)))
        throw typeError(run.positionOf(0), `${takes}, not a ${typeOf(x)}.`);
      const [first, ...others] = readItems(args.length > 1 ? args : x, run);
      if (first === undefined) throw valueError(run.positionOf(0), `${takes}, but not an empty list.`);
      return others.reduce((best, other) => (isBefore(other, best, run) ? other : best), first);
    },
  };
}

/** Sorts a list of numbers or texts, or a list of dicts by a member. Equal items keep their order. */
function sort([xs, member, reverse]: readonly unknown[], run: BuiltinRun): unknown[] {
  const items = readItems(xs, run);
  const key = typeof member === "string" ? member : undefined;
  const keys = items.map((item, index) =>
    key === undefined ? item : memberOf(item, key, () => `item ${index}`, run.positionOf(1)),
  );
  const types = keys.map(typeOf);
  const [type = "number"] = types;
  const wrong = types.findIndex((other) => other !== type || (other !== "number" && other !== "string"));
  if (wrong >= 0 && items.length > 1) {
    const of = key === undefined ? "item" : `the ${key} of item`;
    const found = types[wrong] ?? type;
    const hint = found === "null" && key !== undefined ? ` Leave it out, \`[x for x in xs if x.${key} != None]\`.` : "";
    throw typeError(run.positionOf(0), `${cannotOrder(type, found)} Here ${of} ${wrong} is a ${found}.${hint}`);
  }
  useSortingSteps(keys, run.budget, run);
  const ranks = keys.map((value) => (typeof value === "string" ? Buffer.from(value) : Number(value)));
  const sign = reverse === true ? -1 : 1;
  const order = ranks.map((_, index) => index);
  order.sort((a, b) => sign * compareRanks(ranks[a], ranks[b]));
  return order.map((index) => items[index]);
}

const compareRanks = (a: Buffer | number = 0, b: Buffer | number = 0): number =>
  Buffer.isBuffer(a) && Buffer.isBuffer(b) ? Buffer.compare(a, b) : Number(a) - Number(b);

/**
 * Uses the steps of a merge sort, which compares each item once in each round. A step is used for every 4 comparisons,
 * for every 16 characters of the keys, and for every 4,096 compared characters.
 */
function useSortingSteps(keys: readonly unknown[], budget: StepBudget, { at }: BuiltinRun): void {
  const rounds = Math.ceil(Math.log2(keys.length + 1));
  const chars = keys.reduce((sum: number, key) => sum + (typeof key === "string" ? key.length : 0), 0);
  useSteps(budget, ((keys.length * rounds) >> 2) + (chars >> 4) + ((chars * rounds) >> 12), at);
}

/** Writes a value as the source of a Starlark program. */
function writeSource(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(writeSource).join(", ")}]`;
  if (typeof value !== "object" || value === null) return formatConstant((value ?? null) as Constant);
  return `{${Object.entries(value)
    .map(([key, member]) => `${quote(key)}: ${writeSource(member)}`)
    .join(", ")}}`;
}

const notReadable = (name: string, kind: string, text: string, at: BuiltinRun["at"]) =>
  valueError(at, `${name} reads ${kind} written in digits, and this is ${quote(text.slice(0, 60))}.`);

function pairOf(pair: unknown, { positionOf }: BuiltinRun): readonly [string, unknown] {
  if (typeOf(pair) !== "list" || !Array.isArray(pair) || pair.length !== 2)
    throw valueError(positionOf(0), "dict takes a list of `[key, value]`.");
  const [key, value] = pair as [unknown, unknown];
  if (typeof key !== "string") throw typeError(positionOf(0), cannotUseKey(typeOf(key)));
  checkKey(key, positionOf(0));
  return [key, value];
}
