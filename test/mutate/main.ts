import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

import { equivalents } from "./equivalents.ts";
import { mutantsOf, withSwitches, type Mutant } from "./mutants.ts";
import { slow, testsOf } from "./tests.ts";
import { openWarm, type Warm } from "./warm.ts";

const help = `npm run mutate -- <file or folder> … [--sample N] [--seed S] [--near]

Makes one small mistake after another in the named sources below shared/. For each mistake, runs the tests that should
notice it. Then lists the mistakes that no test noticed. For such a mistake a test is missing, or the changed code does
the same as the original. In the second case, add the mistake to test/mutate/equivalents.ts.

The command works on a copy of the project, which has all mistakes in it, each with a switch. One process runs the tests
again and again.

  --sample N    tries only N mistakes of each file, chosen by the seed
  --seed S      the same seed chooses the same mistakes (1)
  --near        leaves out the slow tests. Each takes a minute for each mistake that no other test notices`;

type Named = Mutant & { file: string };
type Tried = Named & { id: number };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    near: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const root = resolve(import.meta.dirname, "../..");

/** The sources that the command line names: files, and all files in folders. */
const filesOf = (words: readonly string[]): string[] =>
  words.flatMap((word) => (word.endsWith(".ts") ? [word] : globSync(`${word}/**/*.ts`, { cwd: root }).toSorted()));

const nameOf = ({ file, name }: Named): string => `${file}: ${name}`;

/** The mistakes in a file that the command tries. The seed decides their order. */
async function chosen(file: string): Promise<Named[]> {
  const all = mutantsOf(await readFile(join(root, file), "utf8")).map((mutant) => ({ ...mutant, file }));
  const place = (one: Named): string =>
    createHash("sha256").update(`${values.seed} ${file} ${one.start} ${one.to}`).digest("hex");
  const ordered = all.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
  return ordered.slice(0, values.sample === undefined ? all.length : Number(values.sample));
}

const leftOut = new Set(["node_modules", ".git", "cdk.out", ".data"]);

/** Copies the project. The copy uses the same node_modules. */
async function copyProject(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "hosted-mail-mutate-"));
  await cp(root, copy, { recursive: true, filter: (path) => !leftOut.has(basename(path)) });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Writes the sources of a copy anew, with a switch for each mistake. */
async function writeSwitches(copy: string, tried: readonly Tried[]): Promise<void> {
  for (const [file, mutants = []] of Map.groupBy(tried, (one) => one.file)) {
    const path = join(copy, file);
    const switches = relative(dirname(path), join(copy, "test/mutate/switch.ts"));
    const source = withSwitches(await readFile(path, "utf8"), mutants);
    await writeFile(path, `import ${JSON.stringify(switches)}; ${source}`);
  }
}

type Seen = { tookMs: number; reached: ReadonlySet<number> };

/**
 * Runs each test file without a mistake. Returns its time, and the mistakes whose places it runs. Throws if a test
 * fails, because only a test that passes without a mistake can notice the mistake.
 */
async function look(warm: Warm, tests: Iterable<string>): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>();
  for (const file of tests) {
    const { passed, tookMs, reached } = await warm.run(file);
    if (!passed) throw new Error(`A test fails without any mistake: npm run vitest -- ${file}`);
    seen.set(file, { tookMs, reached: new Set(reached) });
  }
  return seen;
}

/** Finds a test file that notices a mistake, among the test files that run its place. */
class Judge {
  readonly #warm: Warm;
  readonly #testsOf: ReadonlyMap<string, string[]>;
  readonly #seen: ReadonlyMap<string, Seen>;
  readonly #noticed = new Map<string, number>();

  constructor(warm: Warm, tests: ReadonlyMap<string, string[]>, seen: ReadonlyMap<string, Seen>) {
    this.#warm = warm;
    this.#testsOf = tests;
    this.#seen = seen;
  }

  /**
   * Sorts test files. The test file with the name of the source is first. Quick files, and files that noticed many
   * mistakes before, come early.
   */
  #inOrder(file: string, tests: readonly string[]): string[] {
    const own = `test/${file.replace(/\.ts$/, ".test.ts")}`;
    const costOf = (test: string): number =>
      test === own ? 0 : (this.#seen.get(test)?.tookMs ?? 0) / (1 + (this.#noticed.get(test) ?? 0));
    return tests.toSorted((a, b) => costOf(a) - costOf(b));
  }

  /**
   * Returns the test file that notices a mistake. A mistake can leave state in the process, which makes later tests
   * fail. So the file that failed must pass without the mistake. If it does not, the mistake is tried again in a new
   * process.
   */
  async noticedBy(mutant: Tried): Promise<string | undefined> {
    const tests = this.#testsOf.get(mutant.file) ?? [];
    const reaching = tests.filter((test) => this.#seen.get(test)?.reached.has(mutant.id));
    // If code runs only once in the life of a process, only the first test file that loads the code seems to reach it.
    const isOnce = mutant.isStatic || reaching.length === 1;
    if (!isOnce) {
      const failing = await this.#failing(mutant, reaching);
      if (failing === undefined || (await this.#warm.run(failing)).passed) return failing;
    }
    await this.#warm.cool();
    const failing = await this.#failing(mutant, isOnce ? tests : reaching);
    await this.#warm.cool();
    return failing;
  }

  /** The first test file that fails with a mistake. */
  async #failing({ id, file: source }: Tried, tests: readonly string[]): Promise<string | undefined> {
    for (const file of this.#inOrder(source, tests)) {
      if ((await this.#warm.run(file, id)).passed) continue;
      this.#noticed.set(file, (this.#noticed.get(file) ?? 0) + 1);
      return file;
    }
    return undefined;
  }
}

async function judge(copy: string, files: readonly string[], tried: readonly Tried[]): Promise<Tried[]> {
  const warm = await openWarm(copy);
  try {
    const tests = new Map<string, string[]>();
    for (const file of files) {
      const near = (await warm.testsBelow(testsOf(file))).filter((test) => !slow.includes(test));
      tests.set(file, values.near ? near : [...near, ...slow]);
    }
    const seen = await look(warm, new Set([...tests.values()].flat()));
    const tookMs = [...seen.values()].reduce((sum, one) => sum + one.tookMs, 0);
    console.log(`${seen.size} test files pass without a mistake, in ${Math.round(tookMs / 1000)} s`);
    const deciding = new Judge(warm, tests, seen);
    const survivors: Tried[] = [];
    for (const [index, mutant] of tried.entries()) {
      const noticed = await deciding.noticedBy(mutant);
      if (noticed === undefined) survivors.push(mutant);
      const { file, line, from, to } = mutant;
      const told = noticed === undefined ? "SURVIVED" : "noticed ";
      console.log(
        `${index + 1}/${tried.length} ${told} ${file}:${line} ${from.slice(0, 60)} → ${to.slice(0, 60)} ${noticed ?? ""}`,
      );
    }
    return survivors;
  } finally {
    await warm.close();
  }
}

async function main(): Promise<void> {
  if (values.help || positionals.length === 0) {
    console.log(help);
    return;
  }
  process.env["TEST_SEED"] ??= "1";
  const files = filesOf(positionals);
  const rounds = (await Promise.all(files.map(chosen))).flatMap((list) => list.map((one, round) => ({ one, round })));
  // One mistake of each file, then the next one of each file. So a run that is stopped early has tried some of each.
  const all = rounds.toSorted((a, b) => a.round - b.round).map(({ one }, id) => ({ ...one, id }));
  const tried = all.filter((one) => !equivalents.has(nameOf(one)));
  const copy = await copyProject();
  try {
    await writeSwitches(copy, tried);
    const survivors = await judge(copy, files, tried);
    tell(tried, survivors, all.length - tried.length);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function tell(tried: readonly Tried[], survivors: readonly Tried[], known: number): void {
  const killed = tried.length - survivors.length;
  const share = tried.length === 0 ? 100 : (100 * killed) / tried.length;
  console.log(
    `\n${killed} of ${tried.length} mistakes noticed (${share.toFixed(1)} %), ${known} known to be equivalent`,
  );
  for (const survivor of survivors) console.log(`  ${survivor.file}:${survivor.line}\n    "${nameOf(survivor)}"`);
  process.exitCode = share < 95 ? 1 : 0;
}

await main();
