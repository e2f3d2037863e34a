import { expect, test } from "vitest";

import { flagOf } from "../../../infra/cli/emit.ts";
import { commandSpecs } from "../../../infra/cli/package/generated/commands.ts";

/** The words of a command line. A part in single quotes is one word. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const examples = commandSpecs.flatMap(({ example, options }) => {
  const words = wordsOf(example);
  return options.flatMap((option) => {
    const at = words.indexOf(flagOf(option.name));
    return at < 0 || option.kind === "boolean" ? [] : [{ ...option, example, value: words[at + 1] ?? "" }];
  });
});

test("the example of every command gives its options only values that the command accepts", () => {
  const wrong = examples.filter(({ kind, choices, value }) => {
    if (choices) return !choices.includes(value);
    if (kind === "number") return value === "" || !Number.isFinite(Number(value));
    if (kind === "json") return !value.startsWith("@") && !isJson(value);
    return /^["[{]/.test(value);
  });
  expect(wrong.map(({ name, example }) => `${name}: ${example}`)).toEqual([]);
  expect(examples.length).toBeGreaterThan(50);
  expect(examples.some(({ isList, choices }) => isList && choices !== undefined)).toBe(true);
});
