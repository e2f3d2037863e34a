import { execFileSync, spawnSync } from "node:child_process";

import { expect, test } from "vitest";

import { isPortable } from "../../../infra/openapi/portable-pattern.ts";
import { publishedDocument } from "../../support/contract.ts";

/** Every pattern in a part of the document, at any depth. */
function patternsIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) =>
    name === "pattern" && typeof value === "string" ? [value] : patternsIn(value),
  );
}
const published = [...new Set(patternsIn(publishedDocument()))];

const javaScriptOnly = [
  String.raw`^\p{L}+$`,
  "^(?=.*a)b",
  "^(?!a)b",
  "(?<=a)b",
  "(?<name>a)",
  String.raw`(a)\1`,
  String.raw`\u0041`,
  String.raw`\u{41}`,
  String.raw`\cA`,
  "[^]",
  "[]",
  "[a&&b]",
  "a{1,2000}",
];

test.each(published)("the published pattern %s is portable", (pattern) => {
  expect(isPortable(pattern)).toBe(true);
});

test.each(javaScriptOnly)("the pattern %s is not portable", (pattern) => {
  expect(isPortable(pattern)).toBe(false);
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** For each pattern, whether Python's `re` reads it without a warning. */
const inPython = (patterns: readonly string[]): boolean[] =>
  JSON.parse(
    execFileSync("python3", ["-W", "error", "-c", reading], { input: JSON.stringify(patterns) }).toString(),
  ) as boolean[];
const reading = `
import json, re, sys
def reads(pattern):
    try:
        return re.compile(pattern) is not None
    except (re.error, Warning):
        return False
print(json.dumps([reads(pattern) for pattern in json.load(sys.stdin)]))
`;

test.skipIf(!hasPython)("Python, if it is installed, reads every published pattern", () => {
  const isRead = inPython(published);
  expect(published.filter((_, index) => isRead[index] !== true)).toEqual([]);
  expect(inPython([String.raw`\p{L}`, "[a"])).toEqual([false, false]);
});
