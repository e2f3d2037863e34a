import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { programErrorCodes } from "../../../functions/code/language/errors.ts";

const root = resolve(import.meta.dirname, "../../..");
const textOf = (file: string): string => readFileSync(resolve(root, file), "utf8");

test("`programErrorCodes` lists every error code of a program, and docs/code-mode.md explains each code", () => {
  // The codes in session-variables.ts are reasons why a variable is not kept, and not errors of a program.
  const files = globSync("functions/code/**/*.ts", { cwd: root }).filter(
    (file) => !file.endsWith("session-variables.ts"),
  );
  const used = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?:code: |diagnostics\.add\(|report\()"([a-z_]+)"/g)].map(([, code = ""]) => code),
  );
  expect([...new Set(used)].toSorted()).toEqual(programErrorCodes);
  const [section = ""] = /^## Error codes\n[^]*?(?=^## )/m.exec(textOf("docs/code-mode.md")) ?? [];
  const explained = [...section.matchAll(/^\| `([a-z_]+)`/gm)].map(([, code = ""]) => code);
  expect(explained.toSorted()).toEqual(programErrorCodes);
});
