import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { equivalents } from "./equivalents.ts";
import { mutantsOf, mutated, type Mutant } from "./mutants.ts";
import { testsOf } from "./tests.ts";

const help = `npm run mutate -- <file or folder> … [--sample N] [--seed S] [--at-once N]

Makes one small mistake after another in the sources below shared/ that are named, runs the tests that should notice, and
lists the mistakes that no test noticed. Each is either a missing test or equivalent to what was written: name those in
test/mutate/equivalents.ts. It works on a copy of the project.

  --sample N    tries N mistakes of each file, chosen by the seed, and not all
  --seed S      chooses the same mistakes again
  --at-once N   how many copies work at the same time (2)`;

type Tried = Mutant & { file: string };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    "at-once": { type: "string", default: "2" },
    help: { type: "boolean", default: false },
  },
});

const root = resolve(import.meta.dirname, "../..");

/** The files that the words of the command line stand for. */
const filesOf = (words: readonly string[]): string[] =>
  words.flatMap((word) => (word.endsWith(".ts") ? [word] : globSync(`${word}/**/*.ts`, { cwd: root }).toSorted()));

/** What names a mutant whatever its line. */
const nameOf = ({ file, from, to }: Tried): string =>
  `${file}: ${from.replaceAll(/\s+/g, " ")} → ${to.replaceAll(/\s+/g, " ")}`;

async function chosen(file: string): Promise<Tried[]> {
  const all = mutantsOf(await readFile(join(root, file), "utf8")).map((mutant) => ({ ...mutant, file }));
  const place = (one: Tried): string =>
    createHash("sha256").update(`${values.seed} ${file} ${one.start} ${one.to}`).digest("hex");
  const ordered = all.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
  return ordered.slice(0, values.sample === undefined ? all.length : Number(values.sample));
}

const leftOut = new Set(["node_modules", ".git", "cdk.out", ".data"]);

/** A copy of the project that shares its packages. */
async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "hosted-mail-mutate-"));
  await cp(root, copy, { recursive: true, filter: (path) => !leftOut.has(basename(path)) });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Whether the tests pass in a copy. A mutant that hangs is noticed too. */
function passes(copy: string, tests: readonly string[]): Promise<boolean> {
  const limitMs = 300_000;
  return new Promise((settle) => {
    const args = ["node_modules/vitest/vitest.mjs", "run", "--bail", "1", "--maxWorkers", "1", ...tests];
    const child = spawn(process.execPath, args, {
      cwd: copy,
      stdio: "ignore",
      env: { ...process.env, TEST_SEED: "1" },
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
    child.on("exit", (code) => {
      clearTimeout(timer);
      settle(code === 0);
    });
  });
}

/** Whether any test notices a mutant: first those that are about its file, then those that every route is held to. */
async function isNoticed(mutant: Tried, copy: string): Promise<boolean> {
  const path = join(copy, mutant.file);
  const source = await readFile(path, "utf8");
  await writeFile(path, mutated(source, mutant));
  try {
    for (const tests of testsOf(mutant.file)) if (!(await passes(copy, tests))) return true;
    return false;
  } finally {
    await writeFile(path, source);
  }
}

/** A mistake is noticed only by tests that pass without it: throws when one does not. */
async function requirePassing(files: readonly string[]): Promise<void> {
  const tests = [...new Set(files.flatMap((file) => testsOf(file)).flat())];
  const copy = await copyProject();
  try {
    if (!(await passes(copy, tests)))
      throw new Error(`Not all tests pass as they are: npm run vitest -- ${tests.join(" ")}`);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function work(left: Tried[], survivors: Tried[], count: { tried: number; all: number }): Promise<void> {
  const copy = await copyProject();
  try {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const noticed = await isNoticed(mutant, copy);
      count.tried += 1;
      if (!noticed) survivors.push(mutant);
      const { file, line, from, to } = mutant;
      const told = noticed ? "noticed" : "SURVIVED";
      console.log(`${count.tried}/${count.all} ${told} ${file}:${line} ${from.slice(0, 60)} → ${to.slice(0, 60)}`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  if (values.help || positionals.length === 0) {
    console.log(help);
    return;
  }
  const files = filesOf(positionals);
  await requirePassing(files);
  const all = (await Promise.all(files.map(chosen))).flat();
  const [known, tried] = [
    all.filter((one) => equivalents.has(nameOf(one))),
    all.filter((one) => !equivalents.has(nameOf(one))),
  ];
  const survivors: Tried[] = [];
  const count = { tried: 0, all: tried.length };
  const left = [...tried];
  await Promise.all(Array.from({ length: Number(values["at-once"]) }, () => work(left, survivors, count)));
  const killed = tried.length - survivors.length;
  const share = tried.length === 0 ? 100 : (100 * killed) / tried.length;
  console.log(
    `\n${killed} of ${tried.length} mistakes noticed (${share.toFixed(1)} %), ${known.length} known to be equivalent`,
  );
  for (const survivor of survivors) console.log(`  ${survivor.file}:${survivor.line}\n    "${nameOf(survivor)}"`);
  process.exitCode = share < 95 ? 1 : 0;
}

await main();
