import { reasonOf } from "../local/command-line.ts";
import { checksFor } from "./checks.ts";
import { Misuse, readOptions, usage } from "./options.ts";
import { type CheckResult, runChecks } from "./run.ts";
import { Scene } from "./scene.ts";

const stateWords = { ok: "ok", failed: "FAILED", skipped: "skipped" };

const lineOf = ({ name, state, ms, note }: CheckResult): string =>
  [
    stateWords[state].padEnd(8),
    `${ms.toFixed(0).padStart(6)} ms  `,
    note === "" ? name : `${name.padEnd(34)} ${note}`,
  ].join("");

const onOutcome = (outcome: CheckResult): void => void process.stdout.write(`${lineOf(outcome)}\n`);

/**
 * Ends the run at the first signal. The run then deletes everything that it created. A second signal ends the process
 * at once.
 */
function stopOnSignal(): AbortSignal {
  const stopping = new AbortController();
  let firstAt: number | undefined;
  const onSignal = (): void => {
    // Both the terminal and npm send a signal for Ctrl-C. So a second signal within half a second is the same key
    // press.
    if (firstAt !== undefined && performance.now() - firstAt > 500) process.exit(130);
    if (firstAt !== undefined) return;
    firstAt = performance.now();
    process.stdout.write(
      "Stopping, and deleting the created resources. Press Ctrl-C again to stop without deleting.\n",
    );
    stopping.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return stopping.signal;
}

async function main(): Promise<number> {
  const options = await readOptions(process.argv.slice(2), process.env);
  if (options === "help") {
    process.stdout.write(usage);
    return 0;
  }
  const { url, readOnly } = options;
  const signal = stopOnSignal();
  process.stdout.write(`${url}${readOnly ? ", read-only" : ""}\n`);
  const scene = new Scene(options);
  const startedAt = performance.now();
  const outcomes = await runChecks(checksFor(options), scene, { readOnly, onOutcome, signal });
  const count = (state: CheckResult["state"]): number => outcomes.filter((one) => one.state === state).length;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`${count("ok")} ok, ${count("failed")} failed, ${count("skipped")} skipped, in ${seconds} s\n`);
  if (count("failed") > 0) return 1;
  return signal.aborted ? 130 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof Misuse)) throw error;
  process.stderr.write(`${reasonOf(error)}\n\n${usage}`);
  process.exitCode = 2;
}
