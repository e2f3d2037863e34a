import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { StartProblem } from "../command-line.ts";

/** A child process with its latest output. */
export type EngineProcess = {
  child: ChildProcessWithoutNullStreams;
  output: () => string;
  /** Resolves when the process has ended and its output is read. */
  ended: Promise<void>;
};

const startTimeoutMs = 15_000;
const stopTimeoutMs = 5000;
const keptOutputChars = 2000;

/**
 * A shell script that starts a watcher and then becomes the engine. The watcher ends the engine when the Node process
 * ends. A killed Node process closes its end of the pipe on descriptor 3, so `read` fails. A line on the pipe ends the
 * watcher without ending the engine.
 */
const watchedExec = `exec 3<&0
{ read -r line <&3 || kill -TERM $$; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null`;

/**
 * Starts a program that never outlives this process. Ctrl-C in the terminal does not reach the program.
 *
 * Windows needs no watcher. Node puts a child that is not detached into a job, and Windows ends the job together with
 * this process. `windowsHide` gives the child a separate console, so Ctrl-C does not reach the child.
 */
export function spawnWatched(program: string, args: readonly string[]): EngineProcess {
  const child =
    process.platform === "win32"
      ? spawn(program, args, { windowsHide: true })
      : spawn("/bin/sh", ["-c", watchedExec, "engine", program, ...args], { detached: true });
  let text = "";
  const collect = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-keptOutputChars);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  child.stdin.on("error", () => {});
  const ended = new Promise<void>((settle) => {
    child.once("close", () => settle());
    child.once("error", () => settle());
  });
  return { child, output: () => text.trim(), ended };
}

/**
 * Resolves when the engine prints that it listens. At this time the port of the engine is bound. Throws `StartProblem`
 * if the engine ends first, or after `startTimeoutMs`.
 */
export async function untilListening({ child, output, ended }: EngineProcess): Promise<void> {
  let failure = "";
  child.once("error", (error) => (failure = `cannot be started: ${error.message}`));
  const listens = new Promise<boolean>((settle) => {
    const check = (): void => {
      if (/listening on/i.test(output())) settle(true);
    };
    child.stdout.on("data", check);
    child.stderr.on("data", check);
    void ended.then(() => settle(false));
  });
  const timer = setTimeout(() => {
    failure = `did not listen within ${startTimeoutMs / 1000} s`;
    child.kill("SIGKILL");
  }, startTimeoutMs);
  const isListening = await listens;
  clearTimeout(timer);
  if (isListening) return;
  const reason = failure === "" ? `ended with code ${child.exitCode ?? child.signalCode}` : failure;
  throw new StartProblem(`The embedded DynamoDB engine ${reason}${output() === "" ? "." : `:\n${output()}`}`);
}

/** Ends the engine and waits for its end. Kills the engine after `stopTimeoutMs`. */
export async function endProcess({ child, ended }: EngineProcess): Promise<void> {
  child.stdin.end("\n");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(timer);
}

/** The platforms with a package of Dynoxide, the embedded engine. `package.json` lists the packages. */
const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

/** Finds the path of a module. Throws if its package is not installed. */
type Resolve = (id: string) => string;

/**
 * Thrown if there is no engine for this machine. The message explains how to get the engine, or for which platforms an
 * engine exists.
 */
export class NoEngine extends StartProblem {}

function noBinary(platform: string): NoEngine {
  const name = `@dynoxide/${platform}`;
  return new NoEngine(
    platforms.includes(platform)
      ? `The embedded DynamoDB engine is missing, because the package ${name} is not installed.\n\n` +
          `Run "npm ci" again on this machine, without --omit=optional. If the package is still missing, check with\n` +
          `"npm view ${name}" whether your registry has it.`
      : `There is no embedded DynamoDB engine for ${platform}.\nIt exists for ${platforms.join(", ")}.`,
  );
}

/** The path of the engine's executable for this platform. Throws `NoEngine`. */
export function binaryPath(
  platform = `${process.platform}-${process.arch}`,
  resolve: Resolve = createRequire(import.meta.url).resolve,
): string {
  if (!platforms.includes(platform)) throw noBinary(platform);
  try {
    const folder = dirname(resolve(`@dynoxide/${platform}/package.json`));
    return join(folder, platform.startsWith("win32-") ? "dynoxide.exe" : "dynoxide");
  } catch {
    throw noBinary(platform);
  }
}
