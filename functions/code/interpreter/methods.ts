import { checkKey } from "../language/names.ts";
import { useSteps } from "./budget.ts";
import type { Builtin, BuiltinParameter, StaticArgument } from "./builtin.ts";
import { findText, join, split, strip } from "./texts.ts";
import { type StaticType, commonType, elementOf, pairType, plainType, wrongType } from "./types.ts";
import { areEqual, typeError, typeOf, valueError } from "./values.ts";

const text = (name: string): BuiltinParameter => ({ name, types: ["string"] });
const xs: BuiltinParameter = { name: "xs", types: ["list"], takes: "lists" };
const dict: BuiltinParameter = { name: "d", types: ["dict"], takes: "dicts" };
const receiver: BuiltinParameter = { name: "text", types: ["string"], takes: "texts" };

const numberType = () => plainType("number");
const booleanType = () => plainType("boolean");
const stringType = () => plainType("string");
const textList = (): StaticType => ({ type: "list", item: plainType("string") });

/** The common type of a dict's values, as far as its members are known. */
function valueType(d: StaticArgument | undefined): StaticType {
  const [first, ...others] = d?.type.members?.values() ?? [];
  return others.reduce(commonType, first ?? {});
}

/** A method that tells whether a text begins, or ends, with another text. */
const endTest = (name: string, test: (text: string, part: string) => boolean): Builtin => ({
  name,
  isMethod: true,
  parameters: [receiver, text("part")],
  check: booleanType,
  evaluate: ([text, part], { budget, at }) => {
    useSteps(budget, String(part).length >> 6, at);
    return test(String(text), String(part));
  },
});

/** A method that changes the case of letters. */
const caseMethod = (name: string, change: (text: string) => string): Builtin => ({
  name,
  isMethod: true,
  parameters: [receiver],
  check: stringType,
  evaluate: ([text], { budget, at }) => {
    useSteps(budget, String(text).length >> 4, at);
    return change(String(text));
  },
});

/** A method that reads each member of a dict. */
const dictMethod = (
  name: string,
  item: (d: StaticArgument | undefined) => StaticType,
  read: (d: object) => unknown[],
): Builtin => ({
  name,
  isMethod: true,
  parameters: [{ ...dict, iterated: true }],
  check: ([d]) => ({ type: "list", item: item(d), ...(d?.type.members ? { most: d.type.members.size } : {}) }),
  evaluate: ([d], { budget, at }) => {
    // Each member takes 3 steps: for the member, and for the key and the value in the new list.
    useSteps(budget, Object.keys(d as object).length * 3, at);
    return read(d as object);
  },
});

/** The methods of the language's values. The first parameter is the value before the dot. */
export const methodTable: readonly Builtin[] = [
  endTest("startswith", (text, part) => text.startsWith(part)),
  endTest("endswith", (text, part) => text.endsWith(part)),
  caseMethod("lower", (text) => text.toLowerCase()),
  caseMethod("upper", (text) => text.toUpperCase()),
  caseMethod("capitalize", (text) => text.toLowerCase().replace(/^./su, (letter) => letter.toUpperCase())),
  caseMethod("title", (text) =>
    text.toLowerCase().replace(/(?<![\p{Lu}\p{Ll}\p{Lt}])[\p{Lu}\p{Ll}\p{Lt}]/gu, (letter) => letter.toUpperCase()),
  ),
  {
    name: "strip",
    isMethod: true,
    parameters: [receiver, { ...text("characters"), optional: true }],
    check: stringType,
    evaluate: ([text, cut], { budget, at }) => strip(String(text), cut as string | undefined, budget, at),
  },
  {
    name: "split",
    isMethod: true,
    parameters: [receiver, { ...text("separator"), optional: true }],
    check: textList,
    evaluate: ([text, separator], { positionOf, budget, at }) => {
      if (separator === "") throw valueError(positionOf(1), "split takes a separator that is not empty.");
      return split(String(text), separator as string | undefined, budget, at);
    },
  },
  {
    name: "join",
    isMethod: true,
    parameters: [receiver, { name: "texts", types: ["list", "dict"], takes: "a list of texts", iterated: true }],
    check: ([, texts]) => {
      const item = elementOf(texts?.type);
      const found = item.none ? undefined : wrongType(item, ["string"]);
      return found ? { code: "type_error", message: notTexts(found), index: 1 } : plainType("string");
    },
    evaluate: ([separator, texts], { positionOf, budget, at }) => {
      const items = Array.isArray(texts) ? (texts as unknown[]) : Object.keys(texts as object);
      useSteps(budget, items.length, at);
      const other = items.find((item) => typeof item !== "string");
      if (other !== undefined) throw typeError(positionOf(1), notTexts(typeOf(other)));
      return join(items as string[], String(separator), at);
    },
  },
  {
    name: "replace",
    isMethod: true,
    parameters: [receiver, text("old"), text("new")],
    check: stringType,
    evaluate: ([text, old, replacement], { positionOf, budget, at }) => {
      if (old === "") throw valueError(positionOf(1), "replace takes an old text that is not empty.");
      const parts = split(String(text), String(old), budget, at);
      useSteps(budget, parts.length, at);
      return join(parts, String(replacement), at);
    },
  },
  {
    name: "find",
    isMethod: true,
    parameters: [receiver, text("part")],
    check: numberType,
    evaluate: ([text, part], { budget, at }) => findText(String(text), String(part), budget, at),
  },
  dictMethod(
    "items",
    (d) => pairType([plainType("string"), valueType(d)]),
    (d) => Object.entries(d),
  ),
  dictMethod(
    "keys",
    () => plainType("string"),
    (d) => Object.keys(d),
  ),
  dictMethod("values", valueType, (d) => Object.values(d)),
  {
    name: "get",
    isMethod: true,
    parameters: [dict, text("key"), { name: "otherwise", optional: true }],
    check: () => ({}),
    evaluate: ([d, key, otherwise = null], { positionOf }) => {
      checkKey(String(key), positionOf(1));
      return Object.hasOwn(d as object, String(key)) ? (d as Record<string, unknown>)[String(key)] : otherwise;
    },
  },
  {
    name: "index",
    isMethod: true,
    parameters: [xs, { name: "item" }],
    check: numberType,
    evaluate: ([xs, item], { at, budget }) => {
      const index = (xs as unknown[]).findIndex((other) => areEqual(other, item, budget, at));
      if (index < 0) throw valueError(at, "index finds no such item: ask `item in xs` first.");
      return index;
    },
  },
  {
    name: "count",
    isMethod: true,
    parameters: [xs, { name: "item" }],
    check: numberType,
    evaluate: ([xs, item], { at, budget }) =>
      (xs as unknown[]).filter((other) => areEqual(other, item, budget, at)).length,
  },
];

const notTexts = (found: string): string =>
  `join takes a list of texts, and an item is a ${found}: write \`[str(x) for x in xs]\`.`;
