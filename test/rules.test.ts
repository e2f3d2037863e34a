import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { lambdas, workers } from "../infra/entry-points.ts";

const root = resolve(import.meta.dirname, "..");
const sources = globSync("{functions,shared,infra,test}/**/*.ts", { cwd: root });
const read = (file: string): string => readFileSync(resolve(root, file), "utf8");

/** The top-level folders a file imports from. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(
    ([, target = ""]) =>
      resolve(root, file, "..", target)
        .slice(root.length + 1)
        .split("/")[0] ?? "",
  );
}

test("imports run one way: functions to shared, infra to both, test to all", () => {
  const allowed: Record<string, string[]> = {
    shared: ["shared"],
    functions: ["functions", "shared"],
    infra: ["infra", "functions", "shared"],
    test: ["test", "infra", "functions", "shared"],
  };
  const wrong = sources.flatMap((file) => {
    const folder = file.split("/")[0] ?? "";
    return importsOf(file).flatMap((target) => (allowed[folder]?.includes(target) ? [] : [`${file} → ${target}`]));
  });
  expect(sources.length).toBeGreaterThan(50);
  expect(wrong).toEqual([]);
});

test("zod is imported as a namespace, so that no bundle holds its locales", () => {
  const named = sources.filter((file) => /import (?:type )?(?:\{|\w+ from) ?.*from "zod"/.test(read(file)));
  expect(named).toEqual([]);
});

test("importing any Lambda's or worker's file needs no environment and opens nothing", () => {
  const files = [...lambdas, ...workers].map(({ file }) => `await import(${JSON.stringify(resolve(root, file))});`);
  const program = [
    "process.stdout; process.stderr;",
    "const before = process.getActiveResourcesInfo().length;",
    ...files,
    "process.stdout.write(`${process.getActiveResourcesInfo().length - before} opened`);",
  ].join("\n");
  const env = { PATH: process.env["PATH"] ?? "" };
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], { env, encoding: "utf8" });
  expect(output).toBe("0 opened");
});

test("the documents name only files that exist", () => {
  const named = ["README.md", "CONTRIBUTING.md"].flatMap((file) =>
    [...read(file).matchAll(/`((?:functions|shared|infra|events|test|docs)\/[\w./-]*\.(?:ts|json|md))`/g)].map(
      ([, path]) => path,
    ),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => globSync(path ?? "", { cwd: root }).length === 0)).toEqual([]);
});
