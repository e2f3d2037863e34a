import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

/** A problem whose message is meant for the person at the command line. */
export class StartProblem extends Error {}

/** The message of any error. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** Advice for errors of the file system, by their code. */
const advice: Record<string, string> = {
  ENOSPC: "The disk is full. Free some space",
  EDQUOT: "Your disk quota is used up. Free some space",
  EROFS: "The file system is read-only. Set DATA_DIR to a folder on another file system",
  EACCES: "You have no right to write to this place. Set DATA_DIR to a folder of yours",
  EPERM: "You have no right to write to this place. Set DATA_DIR to a folder of yours",
};

/**
 * Converts an error of the file system into a `StartProblem`, if there is advice for the error. Returns a
 * `StartProblem` unchanged. Returns undefined for any other error.
 */
export function startProblemOf(error: unknown): StartProblem | undefined {
  if (error instanceof StartProblem) return error;
  if (!(error instanceof Error) || !("code" in error) || !("path" in error)) return undefined;
  const text = advice[String(error.code)];
  return text === undefined ? undefined : new StartProblem(`${text}. ${error.message}`);
}

export type StartArguments = {
  help: boolean;
  reset: boolean;
  yes: boolean;
  showTokens: boolean;
  seed: "big" | undefined;
};

/** Thrown if the command line is not valid. The message gives the reason. */
export class Misuse extends Error {}

export const usage = `Usage: npm start [-- options]

Starts the product on this machine. Settings are environment variables: see docs/local.md.

    --reset       Before the start, deletes the product's data in DATA_DIR. Asks for confirmation.
    --yes         Answers all questions with yes. Needed without a terminal.
    --show-tokens Prints a command and an MCP configuration with the whole token, not a shortened one.
    --seed big    Adds an account with 500 domains and 100,000 mailboxes. Takes about four minutes and 400 MB. A second
                  --seed big continues an interrupted seed. The account's id and tokens are accounts[2] in
                  DATA_DIR/demo.json.
    --help        Shows this text.
`;

const options = {
  help: { type: "boolean", default: false },
  reset: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
  "show-tokens": { type: "boolean", default: false },
  seed: { type: "string" },
} as const;

function parseArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new Misuse(reasonOf(error));
  }
}

/** Reads the arguments after `npm start --`. Throws `Misuse`. */
export function readArguments(argv: readonly string[]): StartArguments {
  const { help, reset, yes, seed, "show-tokens": showTokens } = parseArguments(argv);
  if (seed !== undefined && seed !== "big")
    throw new Misuse(`There is no seed "${seed}". The only seed is --seed big.`);
  return { help, reset, yes, showTokens, seed };
}

/**
 * Asks a yes-or-no question at the terminal. With `yes`, returns true without asking. Throws `StartProblem` without a
 * terminal.
 */
export async function confirmAtTerminal(question: string, { yes }: { yes: boolean }): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY)
    throw new StartProblem(`${question} There is no terminal for this question. To answer yes, add --yes.`);
  // The question goes to standard error, because standard output may be redirected to a file.
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** The default of DATA_DIR. */
export const defaultDataDir = resolve(import.meta.dirname, "../../.data");

const shellQuoted = (word: string): string =>
  /^[\w./~+@%=:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The command that starts the product with a data folder, ready to paste: `DATA_DIR=/tmp/x npm start -- --reset`. */
export function startCommand(dataDir: string, ...flags: readonly string[]): string {
  const assignment = resolve(dataDir) === defaultDataDir ? "" : `DATA_DIR=${shellQuoted(dataDir)} `;
  return `${assignment}npm start${flags.length === 0 ? "" : ` -- ${flags.join(" ")}`}`;
}
