import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";

import { expect, test } from "vitest";

import { newFolder } from "../support/folder.ts";
import { choose, takeReached } from "./choice.ts";
import { equivalents } from "./equivalents.ts";
import { mutantsOf, withSwitches } from "./mutants.ts";

const source = `
  const limit = 2;
  const names = ["b", "a"].map((name) => name.startsWith("a") ? "first" : name);
  function judge(a, b) {
    const seen = [...names, limit];
    if (a >= b || !(b < limit)) seen.push(a ?? "none");
    if (seen.some((one) => one === a && b !== 1)) return [seen.length - 1, Math.min(a, b)];
    return seen?.map((one) => one).every((one) => one !== 3) ? { a: a + b * 2, is: true } : seen;
  }
`;
const inputs = [undefined, 0, 1, 2, 3].flatMap((a) => [undefined, 1, 2].map((b) => [a, b]));

/** Returns the answers of `judge` to all inputs, as JSON. The mistake `chosen` is in force from the beginning. */
function answersOf(text: string, chosen?: number): string {
  const told = `${stripTypeScriptTypes(text)}; JSON.stringify(inputs.map(([a, b]) => judge(a, b)))`;
  return runInNewContext(told, { inputs, isMutant: (id: number) => id === chosen }) as string;
}

test("a source with switches works like the original, and with a chosen mistake like a source with this mistake", () => {
  const mutants = mutantsOf(source).map((mutant, id) => ({ ...mutant, id }));
  const switched = withSwitches(source, mutants);
  const right = answersOf(source);
  expect(answersOf(switched)).toBe(right);
  const wrong = mutants.map(({ start, end, to }) => source.slice(0, start) + to + source.slice(end));
  expect(mutants.map(({ id }) => answersOf(switched, id))).toEqual(wrong.map((text) => answersOf(text)));
  expect(new Set(wrong.map((text) => answersOf(text))).size).toBeGreaterThan(20);
  expect(mutants.filter(({ isStatic }) => isStatic).map(({ from }) => from)).toEqual(["2"]);
});

test("a process that a test starts has the chosen mistake, and notes the mistakes whose code runs in it", async () => {
  const folder = newFolder();
  for (const name of ["switch.ts", "choice.ts"]) await cp(join(import.meta.dirname, name), join(folder, name));
  const program = "console.log(process.argv.length > 9 ? 1 + 2 : 3 + 4);";
  const mutants = mutantsOf(program).map((mutant, id) => ({ ...mutant, id }));
  await writeFile(join(folder, "program.ts"), `import "./switch.ts"; ${withSwitches(program, mutants)}`);
  const idOf = (name: string) => mutants.findIndex(({ from, to }) => `${from} ${to}` === name);
  const outputWith = async (mutant: number | undefined) => {
    choose(folder, mutant);
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "program.ts")]);
    return stdout.trim();
  };
  expect(await outputWith(undefined)).toBe("7");
  const reached = takeReached(folder);
  expect(reached).toContain(idOf("4 (4 + 1)"));
  expect(reached).not.toContain(idOf("2 (2 + 1)"));
  expect(await outputWith(idOf("4 (4 + 1)"))).toBe("8");
});

test("every mistake in the list of equivalents is possible in its file", () => {
  const stale = [...equivalents].filter((key) => {
    const [file = "", name] = key.split(/: (.*)/s);
    const source = readFileSync(resolve(import.meta.dirname, "../..", file), "utf8");
    return !mutantsOf(source).some((mutant) => mutant.name === name);
  });
  expect(stale).toEqual([]);
});
