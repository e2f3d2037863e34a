import type { ChildProcess } from "node:child_process";
import { join } from "node:path";

import { createVitest, ForksPoolWorker, type PoolOptions, type PoolWorker, type Reporter } from "vitest/node";

import { choose, isNewChoice, newChoice, takeReached } from "./choice.ts";

type Request = Parameters<PoolWorker["send"]>[0];
type Heard = (message: unknown) => void;

/** The longest time of a test file, in milliseconds. A mistake that makes a file take longer counts as noticed. */
const limitMs = 180_000;

/** The result of one run of a test file. `reached` has the mistakes whose places ran. */
type Run = { passed: boolean; tookMs: number; reached: number[] };

/** Runs test files in one process, which has everything loaded. The process has one mistake at a time, or none. */
export type Warm = {
  /** The test files below these paths. */
  testsBelow: (paths: readonly string[]) => Promise<string[]>;
  /** Runs one test file, with a mistake or without one. The run stops at the first test that fails. */
  run: (file: string, mutant?: number) => Promise<Run>;
  /** Ends the process. A new process runs the next file. */
  cool: () => Promise<void>;
  close: () => Promise<void>;
};

/** The process of the tests, which stays from one run of vitest to the next. */
class Keeper {
  child: ChildProcess | undefined;
  /** The folder of the switches in the copy of the project. */
  readonly folder: string;

  constructor(copy: string) {
    this.folder = join(copy, "test/mutate");
  }

  /** Chooses a mistake, or none. Returns the mistakes whose places ran since the last call. */
  async choose(mutant: number | undefined): Promise<number[]> {
    choose(this.folder, mutant);
    await this.#tell();
    return takeReached(this.folder);
  }

  /** Tells the process of the tests that there is a new choice. Returns when the process knows the choice. */
  #tell(): Promise<void> {
    const { child } = this;
    if (!child) return Promise.resolve();
    return new Promise((settle) => {
      const end = (): void => {
        child.off("message", heard).off("exit", end);
        settle();
      };
      const heard = (message: object): void => {
        if (isNewChoice(message)) end();
      };
      child.on("message", heard).on("exit", end);
      child.send(newChoice);
    });
  }

  async end(): Promise<void> {
    const { child } = this;
    if (!child) return;
    const gone = new Promise((settle) => child.once("exit", settle));
    child.kill("SIGKILL");
    await gone;
  }
}

/** Vitest's own process for tests, but it does not end. The first process is kept, and does every further run. */
class Kept extends ForksPoolWorker {
  readonly #keeper: Keeper;
  readonly #isNew: boolean;
  readonly #heard = new Set<Heard>();

  constructor(options: PoolOptions, keeper: Keeper) {
    super({ ...options, execArgv: [...options.execArgv, "--import", join(keeper.folder, "kept.ts")] });
    this.#keeper = keeper;
    this.#isNew = keeper.child === undefined;
    Object.assign(this, { _fork: keeper.child });
  }

  override on(event: string, heard: Heard): void {
    super.on(event, heard);
    if (event === "message") this.#heard.add(heard);
  }

  override off(event: string, heard: Heard): void {
    super.off(event, heard);
    if (event === "message") this.#heard.delete(heard);
  }

  override async start(): Promise<void> {
    if (!this.#isNew) return;
    await super.start();
    const { _fork: child } = this as unknown as { _fork: ChildProcess };
    const keeper = this.#keeper;
    keeper.child = child.setMaxListeners(0).once("exit", () => {
      keeper.child = undefined;
    });
  }

  override async stop(): Promise<void> {}

  /** Sends a message. If the message would end the process or start it again, answers the message itself. */
  override send(message: Request): void {
    const startsAgain = message.type === "start" && !this.#isNew;
    if (message.type !== "stop" && !startsAgain) return super.send(message);
    const type = startsAgain ? "started" : "stopped";
    setImmediate(() => {
      for (const heard of this.#heard) heard({ type, __vitest_worker_response__: true });
    });
  }
}

const silent: Reporter = {};

/** Opens vitest on a copy of the project whose sources have switches in them. */
export async function openWarm(copy: string): Promise<Warm> {
  const keeper = new Keeper(copy);
  const pool = { name: "kept", createPoolWorker: (options: PoolOptions) => new Kept(options, keeper) };
  const vitest = await createVitest("test", {
    root: copy,
    watch: true,
    project: ["together"],
    pool,
    maxWorkers: 1,
    bail: 1,
    reporters: [silent],
  });
  await vitest.standalone();
  const [project] = vitest.projects;
  const specificationsOf = (file: string) => (project ? [project.createSpecification(join(copy, file))] : []);
  const run = async (file: string, mutant?: number): Promise<Run> => {
    await keeper.choose(mutant);
    const start = performance.now();
    const timer = setTimeout(() => void keeper.end(), limitMs);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specificationsOf(file));
    clearTimeout(timer);
    const tookMs = performance.now() - start;
    // The result of vitest also has the modules of earlier runs.
    const tests = testModules.find(({ moduleId }) => moduleId === join(copy, file));
    const passed = unhandledErrors.length === 0 && tests?.state() === "passed";
    return { passed, tookMs, reached: await keeper.choose(undefined) };
  };
  return {
    testsBelow: async (paths) => {
      const found = await vitest.globTestSpecifications([...paths]);
      return found.map(({ moduleId }) => moduleId.slice(copy.length + 1));
    },
    run,
    cool: () => keeper.end(),
    close: async () => {
      await keeper.end();
      await vitest.close();
    },
  };
}
