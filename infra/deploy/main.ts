import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";

import { Misuse, StartProblem, confirmAtTerminal, reasonOf } from "../local/command-line.ts";

const root = resolve(import.meta.dirname, "../..");

const usage = `Usage: npm run deploy -- --stage <stage> [options]

Deploys a stage: runs the tests, shows the changes, asks for confirmation, deploys, and runs the smoke test. Stops at
the first step that fails. The smoke test needs a token of a test account in SMOKE_TOKEN. All changes must be committed.

    --stage <stage>   the stage; its file is infra/stages/<stage>.ts
    --skip-tests      deploys without npm test, for example because another machine ran it for this commit
    --yes             deploys without asking for confirmation. Needed without a terminal.
    --help            shows this text
`;

type Options = { stage: string; skipTests: boolean; yes: boolean };

function readOptions(argv: readonly string[]): Options | "help" {
  const options = {
    stage: { type: "string" },
    "skip-tests": { type: "boolean", default: false },
    yes: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  } as const;
  let values;
  try {
    values = parseArgs({ args: [...argv], options, strict: true }).values;
  } catch (error) {
    throw new Misuse(reasonOf(error));
  }
  const { stage, "skip-tests": skipTests, yes, help } = values;
  if (help) return "help";
  if (stage === undefined || !/^[a-z][a-z0-9-]*$/.test(stage)) throw new Misuse("Name a stage: --stage prod.");
  if (!existsSync(join(root, `infra/stages/${stage}.ts`)))
    throw new Misuse(`There is no file infra/stages/${stage}.ts. Copy infra/stages/example.ts.`);
  return { stage, skipTests, yes };
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/**
 * Runs an npm script in the project's root, with its output on this terminal. Returns its output. Throws `StartProblem`
 * if the script fails.
 */
async function runScript(name: string, ...args: readonly string[]): Promise<string> {
  const words = ["run", "--silent", name, ...(args.length === 0 ? [] : ["--", ...args])];
  say(`\n> npm ${words.filter((word) => word !== "--silent").join(" ")}`);
  // npm sets `npm_execpath` to the path of its own script. Windows cannot start `npm` itself without a shell.
  const npm = process.env["npm_execpath"];
  const [command, ...first] = npm === undefined ? (["npm"] as const) : ([process.execPath, npm] as const);
  // The output of the script goes through pipes, because this function also returns it. Without a terminal, programs
  // write no colours, unless FORCE_COLOR is set.
  const env = { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}) };
  const child = spawn(command, [...first, ...words], { cwd: root, env, stdio: ["inherit", "pipe", "pipe"] });
  const parts: string[] = [];
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (part: string) => {
      parts.push(part);
      process[stream].write(part);
    });
  }
  const [code] = await once(child, "close");
  if (code !== 0) throw new StartProblem(`npm run ${name} failed.`);
  return parts.join("");
}

/**
 * Whether the output of `cdk diff` has a new table. A deployed stage has a table already. If the file of the stage
 * does not name the restored table that the stage uses, the deployment would give the stage a new, empty table.
 */
const makesTable = (diff: string): boolean => /\[\+\] AWS::DynamoDB::Table\b/.test(stripVTControlCharacters(diff));

/** Runs git and returns its output. Returns undefined if git fails. */
function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** The URL of the API, from the file with the outputs of the deployment. */
function apiUrl(file: string, stage: string): string {
  const outputs = JSON.parse(readFileSync(file, "utf8")) as Record<string, { ApiUrl?: string }>;
  const url = outputs[`hosted-mail-${stage}`]?.ApiUrl;
  if (url === undefined) throw new StartProblem(`${file} has no ApiUrl of the stage.`);
  return url;
}

/** The git tag on the commit of a stage's latest deployment. */
const tagOf = (stage: string): string => `deployed-${stage}`;
/** The git tag on the commit that was deployed before the commit of the latest deployment. */
const tagBefore = (stage: string): string => `deployed-${stage}-before`;

const commitOf = (name: string): string | undefined => git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);

/**
 * The commit to which a deployment of the checked-out commit can go back. This is the commit of the latest deployment.
 * If the latest deployment was of the checked-out commit itself, this is the commit that was deployed before. Undefined
 * if git does not know the commit.
 */
function earlierCommit(stage: string): string | undefined {
  const deployed = commitOf(tagOf(stage));
  return deployed === commitOf("HEAD") ? commitOf(tagBefore(stage)) : deployed;
}

/** The instructions for going back to the earlier deployment. `earlier` is the commit of that deployment. */
const wayBack = (stage: string, earlier: string | undefined): string =>
  earlier === undefined
    ? `To go back, check out the commit that was deployed before, and run SMOKE_TOKEN=… npm run deploy -- --stage ${stage}.`
    : `To go back: git checkout ${earlier} && npm ci && SMOKE_TOKEN=… npm run deploy -- --stage ${stage} --skip-tests`;

async function deploy({ stage, skipTests, yes }: Options): Promise<void> {
  if (!process.env["SMOKE_TOKEN"])
    throw new StartProblem("Set SMOKE_TOKEN to a token of a test account, for the smoke test.");
  const uncommitted = git("status", "--porcelain");
  if (uncommitted === undefined) throw new StartProblem("Deploy from a git repository: `git status` failed.");
  if (uncommitted !== "")
    throw new StartProblem("Commit your changes first. A later deployment can then go back to this commit.");
  const earlier = earlierCommit(stage);
  if (!skipTests) await runScript("test");
  const context = ["-c", `stage=${stage}`];
  const diff = await runScript("cdk", "diff", "--all", ...context);
  if (commitOf(tagOf(stage)) !== undefined && makesTable(diff))
    throw new StartProblem(
      `The stage ${stage} would get a new, empty table. If it uses a restored table, name this table in infra/stages/${stage}.ts: docs/operations.md, Restore.`,
    );
  if (!(await confirmAtTerminal(`Deploy these changes to the stage ${stage}?`, { yes })))
    throw new StartProblem("Nothing is deployed.");
  const outputs = join(root, "cdk.out", `outputs-${stage}.json`);
  await runScript("cdk", "deploy", "--all", "--require-approval", "never", "--outputs-file", outputs, ...context);
  try {
    await runScript("smoke", "--url", apiUrl(outputs, stage));
  } catch (error) {
    throw new StartProblem(`The stage ${stage} is deployed, but: ${reasonOf(error)}\n${wayBack(stage, earlier)}`);
  }
  const before = earlier === undefined ? [] : [[tagBefore(stage), earlier]];
  const tags = [...before, [tagOf(stage), commitOf("HEAD") ?? "HEAD"]];
  const unset = tags.filter(([tag = "", commit = ""]) => git("tag", "--force", tag, commit) === undefined);
  const commands = unset.map(([tag, commit]) => `git tag -f ${tag} ${commit}`);
  const tagged =
    commands.length === 0
      ? `The tag ${tagOf(stage)} names its commit.`
      : `But git could not set a tag. Set it: ${commands.join(" && ")}`;
  say(`\nThe stage ${stage} is deployed. ${tagged}\n${wayBack(stage, earlier)}`);
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === "help") say(usage);
  else await deploy(options);
} catch (error) {
  if (!(error instanceof Misuse || error instanceof StartProblem)) throw error;
  const isMisuse = error instanceof Misuse;
  process.stderr.write(`${error.message}\n${isMisuse ? `\n${usage}` : ""}`);
  process.exitCode = isMisuse ? 2 : 1;
}
