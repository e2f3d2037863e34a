import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { StartProblem } from "../command-line.ts";

/** A child process with its latest output. */
type EngineProcess = {
  child: ChildProcessWithoutNullStreams;
  output: () => string;
  /** Resolves when the process has ended and its output is read. */
  ended: Promise<void>;
};

const startTimeoutMs = 15_000;
const stopTimeoutMs = 5000;
const keptOutputChars = 2000;

/**
 * Starts a watcher, then becomes the engine. The watcher ends the engine when this process ends: a killed process
 * closes its end of the pipe on descriptor 3, so `read` fails. A line on the pipe dismisses the watcher.
 */
const watchedExec = `exec 3<&0
{ read -r line <&3 || kill -TERM $$; } >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null`;

/** Starts the engine with a watcher, so that the engine never outlives this process. */
export function spawnWatched(binary: string, args: readonly string[]): EngineProcess {
  const child = spawn("/bin/sh", ["-c", watchedExec, "engine", binary, ...args], {
    // A session of its own, so that Ctrl-C in the terminal reaches this process and not the engine.
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

/** Resolves when the engine prints that it listens, which it does once its port is bound. Throws `StartProblem`. */
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

/** Ends the engine and waits until it has ended. Kills the engine after a time-out. */
export async function endProcess({ child, ended }: EngineProcess): Promise<void> {
  child.stdin.end("\n");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(timer);
}

/** The platforms that have a Dynoxide package and a shell. `package.json` lists the package of each. */
const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

const ownEndpoint = `Use DynamoDB Local instead, which runs on any system:

  with Docker:           docker run -p 127.0.0.1:8000:8000 amazon/dynamodb-local
  with Java 17 or newer: java -jar DynamoDBLocal.jar -inMemory -port 8000

The DynamoDB Developer Guide has the download, under "Setting up DynamoDB local". Then run:

  AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000 npm start`;

/** The message for a missing executable, with a solution. */
function noBinary(platform: string): string {
  const name = `@dynoxide/${platform}`;
  if (platform.startsWith("win32-")) {
    return "The embedded DynamoDB engine needs /bin/sh, which Windows does not have. Use WSL2 as README.md describes.";
  }
  if (!platforms.includes(platform)) {
    return `There is no embedded DynamoDB engine for ${platform}.\nIt exists for ${platforms.join(", ")}.\n\n${ownEndpoint}`;
  }
  return (
    `The embedded DynamoDB engine is missing, because the package ${name} is not installed.\n\n` +
    `Run "npm ci" again on this machine, without --omit=optional. If the package is still missing, check with\n` +
    `"npm view ${name}" whether your registry has it.\n\n${ownEndpoint}`
  );
}

/** Finds the path of an installed package. Throws if it is not installed. */
type Resolve = (id: string) => string;

/** The path of the engine's executable for this platform. Throws `StartProblem` if there is none. */
export function binaryPath(
  platform = `${process.platform}-${process.arch}`,
  resolve: Resolve = createRequire(import.meta.url).resolve,
): string {
  if (!platforms.includes(platform)) throw new StartProblem(noBinary(platform));
  try {
    return join(dirname(resolve(`@dynoxide/${platform}/package.json`)), "dynoxide");
  } catch {
    throw new StartProblem(noBinary(platform));
  }
}
