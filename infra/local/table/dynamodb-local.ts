import { execFile } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { StartProblem, reasonOf } from "../command-line.ts";
import { endProcess, spawnWatched } from "./engine-process.ts";
import type { Engine } from "./engine.ts";
import { freePort } from "./lock.ts";

const runProgram = promisify(execFile);

/** The URL of DynamoDB Local's archive, from the DynamoDB Developer Guide. */
const archive = "https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_latest.tar.gz";

/**
 * The longest time for the start of DynamoDB Local, in milliseconds. The time includes the download of Docker's image.
 */
const startTimeoutMs = 300_000;

/** A way to run DynamoDB Local on this machine. */
type Runner = {
  question: string;
  /** Prepares the data folder. Returns the command that serves DynamoDB on `port` of 127.0.0.1. */
  command: (folder: string, port: number) => Promise<[program: string, ...args: string[]]>;
};

const docker: Runner = {
  question: "Docker is installed. Run DynamoDB Local in Docker instead, with Amazon's image amazon/dynamodb-local?",
  command: async (folder, port) => {
    const volume = `${folder}:/data`;
    const serve = ["-jar", "DynamoDBLocal.jar", "-sharedDb", "-dbPath", "/data"];
    // The folder belongs to the user of this process. The container's root user can write to it.
    const options = ["--rm", "--user", "root", "-p", `127.0.0.1:${port}:8000`, "-v", volume];
    return ["docker", "run", ...options, "amazon/dynamodb-local", ...serve];
  },
};

const java = (jar: string | undefined, source: string): Runner => ({
  question: jar
    ? `Java is installed. Run DynamoDB Local with Java instead, from ${jar}?`
    : "Java is installed. Download DynamoDB Local from Amazon, under Amazon's licence, and run it with Java instead?",
  command: async (folder, port) => {
    const file = jar ?? (await download(source, folder));
    const libraries = join(file, "..", "DynamoDBLocal_lib");
    const serve = ["-sharedDb", "-dbPath", folder, "-port", String(port)];
    return ["java", `-Djava.library.path=${libraries}`, "-jar", file, ...serve];
  },
});

const jarName = "DynamoDBLocal.jar";

/**
 * Downloads the archive and unpacks it into the folder. Returns the path of the jar. Throws `StartProblem` on a
 * failure.
 */
async function download(source: string, folder: string): Promise<string> {
  try {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`${source} answers ${response.status}`);
    const file = join(folder, "dynamodb-local.tar.gz");
    await writeFile(file, Buffer.from(await response.arrayBuffer()));
    await runProgram("tar", ["-xzf", file, "-C", folder]);
    return join(folder, jarName);
  } catch (error) {
    throw new StartProblem(`DynamoDB Local cannot be downloaded: ${reasonOf(error)}`);
  }
}

const succeeds = (program: string, ...args: string[]): Promise<boolean> =>
  runProgram(program, args, { timeout: 15_000 }).then(
    () => true,
    () => false,
  );

const isFile = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/**
 * Finds a way to run DynamoDB Local: Docker if its daemon answers, or Java. Returns undefined if the machine has
 * neither.
 */
async function findRunner(folder: string, source: string): Promise<Runner | undefined> {
  if (await succeeds("docker", "info")) return docker;
  if (!(await succeeds("java", "-version"))) return undefined;
  const jarFile = process.env["DYNAMODB_LOCAL_JAR"] ?? join(folder, jarName);
  return java((await isFile(jarFile)) ? jarFile : undefined, source);
}

const byHand = `DynamoDB Local runs on any system, with Docker or with Java 17 or newer:

  docker run -p 127.0.0.1:8000:8000 amazon/dynamodb-local
  java -jar DynamoDBLocal.jar -inMemory -port 8000

The download is in the DynamoDB Developer Guide, under "Setting up DynamoDB local". Then set
AWS_ENDPOINT_URL_DYNAMODB to http://127.0.0.1:8000 and run npm start again.`;

/**
 * Waits until the endpoint answers, and returns true. Returns false if the process ends first, or after
 * `startTimeoutMs`.
 */
async function untilAnswers(endpoint: string, ended: Promise<void>): Promise<boolean> {
  const hasEnded = ended.then(() => true);
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline) {
    const answers = await fetch(endpoint).then(
      () => true,
      () => false,
    );
    if (answers) return true;
    if (await Promise.race([hasEnded, delay(200, false)])) return false;
  }
  return false;
}

export type DynamoDbLocalOptions = {
  /** The reason why there is no embedded engine, as one or more lines. */
  reason: string;
  dataDir: string;
  /** Asks the person who starts the product a yes-or-no question. Throws `StartProblem` without a terminal. */
  confirm: (question: string) => Promise<boolean>;
  say: (text: string) => void;
  /** The URL of the archive. By default Amazon's. */
  source?: string;
};

/**
 * Offers to run DynamoDB Local instead of the embedded engine, and starts it if the user says yes. DynamoDB Local keeps
 * its data in the folder `dynamodb-local` of the data folder. Throws `StartProblem` if there is neither Docker nor
 * Java, if the user says no, or if the download or the start fails. The message of the error names the alternatives,
 * except after a failed download.
 */
export async function startDynamoDbLocal(options: DynamoDbLocalOptions): Promise<Engine> {
  const { reason, dataDir, confirm, say, source = archive } = options;
  const folder = join(dataDir, "dynamodb-local");
  const runner = await findRunner(folder, source);
  const problem = new StartProblem(`${reason}\n\n${byHand}`);
  if (runner === undefined) throw problem;
  say(reason);
  const isWanted = await confirm(runner.question).catch((error: unknown) => {
    throw new StartProblem(`${reason}\n\n${reasonOf(error)}\n\n${byHand}`);
  });
  if (!isWanted) throw problem;
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const [program, ...args] = await runner.command(folder, port);
  say("Starting DynamoDB Local. The first start can take some minutes.");
  const engine = spawnWatched(program, args);
  const endpoint = `http://127.0.0.1:${port}`;
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    await endProcess(engine);
  };
  if (!(await untilAnswers(endpoint, engine.ended))) {
    await stop();
    throw new StartProblem(`DynamoDB Local did not start:\n${engine.output()}\n\n${byHand}`);
  }
  const died = engine.ended.then(() => (stopping ? new Promise<string>(() => {}) : engine.output()));
  return { endpoint, pid: engine.child.pid ?? null, stop, died };
}
