import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

import { StartProblem } from "../command-line.ts";

/** A child process with what it has printed so far. */
export type EngineProcess = {
  child: ChildProcessWithoutNullStreams;
  output: () => string;
  /** Settles when it is gone and its output is read to the end. */
  ended: Promise<void>;
};

const startTimeoutMs = 15_000;
const stopTimeoutMs = 5000;
const keptOutputChars = 2000;

/**
 * Becomes the engine, after leaving a watcher behind that ends it when this process goes: a killed
 * process closes its end of the pipe on descriptor 3, and `read` fails. A line on it calls the watcher off.
 */
const watchedExec = `exec 3<&0
{ read -r line <&3 || kill -TERM $$; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null`;

/** Starts the executable with a watcher beside it, so that it cannot outlive this process. */
export function spawnWatched(binary: string, args: readonly string[]): EngineProcess {
  const child = spawn("/bin/sh", ["-c", watchedExec, "engine", binary, ...args], {
    // A session of its own, so that Ctrl-C in the terminal reaches us and not the engine.
    detached: true,
  });
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

/** Resolves when the engine says that it listens, which it does once its port is bound. Throws `StartProblem`. */
export async function untilListening({ child, output, ended }: EngineProcess): Promise<void> {
  let failure = "";
  child.once("error", (error) => (failure = `cannot be started: ${error.message}`));
  const listens = new Promise<boolean>((settle) => {
    const look = (): void => {
      if (/listening on/i.test(output())) settle(true);
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    void ended.then(() => settle(false));
  });
  const timer = setTimeout(() => {
    failure = `did not listen within ${startTimeoutMs / 1000} s`;
    child.kill("SIGKILL");
  }, startTimeoutMs);
  const up = await listens;
  clearTimeout(timer);
  if (up) return;
  const what = failure === "" ? `ended with code ${child.exitCode ?? child.signalCode}` : failure;
  throw new StartProblem(`The embedded DynamoDB engine ${what}${output() === "" ? "." : `:\n${output()}`}`);
}

/** Ends the engine and waits until it is gone; by force if it does not go in time. */
export async function endProcess({ child, ended }: EngineProcess): Promise<void> {
  child.stdin.end("\n");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(timer);
}
