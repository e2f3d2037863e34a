import { ApiError } from "#client";

import { reasonOf } from "../local/command-line.ts";
import { type Scene, Skip } from "./scene.ts";

export type Check = {
  /** The name of the check: the family, then the actions. */
  name: string;
  /** Whether the check creates resources. */
  writes?: true;
  /** Whether the run ends if this check fails or cannot run. */
  essential?: true;
  /**
   * Runs the check, and returns a note or nothing. Throws `Skip` if the check is not possible here. Throws any other
   * error if the check fails.
   */
  run: (scene: Scene) => Promise<string | void>;
};

export type CheckResult = { name: string; state: "ok" | "failed" | "skipped"; ms: number; note: string };

export type RunOptions = {
  readOnly: boolean;
  /** Called with the outcome of each check. */
  onOutcome: (outcome: CheckResult) => void;
  /** Ends the run before the next check. The run still removes everything that it created. */
  signal: AbortSignal;
};

/**
 * The reason why an error is not an error of the product: the check is not possible here, the token lacks a capability,
 * or the account cannot be changed. Undefined for any other error.
 */
function excuseOf(error: unknown): string | undefined {
  if (error instanceof Skip) return error.message;
  if (!(error instanceof ApiError) || error.status !== 403) return undefined;
  const { required_capability: capability } = error.body as { required_capability?: string };
  if (error.code === "forbidden") return `the token lacks ${capability ?? "a capability"}`;
  return error.code === "account_suspended" ? "the account cannot be changed" : undefined;
}

function outcomeOf(name: string, error: unknown, ms: number): CheckResult {
  const excuse = excuseOf(error);
  if (excuse !== undefined) return { name, state: "skipped", ms, note: excuse };
  const requestId = error instanceof ApiError && error.requestId ? ` (request ${error.requestId})` : "";
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return { name, state: "failed", ms, note: `${reasonOf(error)}${cause}${requestId}` };
}

async function outcomeOfRunning({ name, run }: Check, scene: Scene): Promise<CheckResult> {
  const startedAt = performance.now();
  try {
    const note = (await run(scene)) ?? "";
    return { name, state: "ok", ms: performance.now() - startedAt, note };
  } catch (error) {
    return outcomeOf(name, error, performance.now() - startedAt);
  }
}

/**
 * Removes all leftovers, the newest first. Returns one outcome for each leftover, with its name. Succeeds for a
 * leftover that does not exist any more, and fails for a leftover that cannot be removed.
 */
async function tidyUp(scene: Scene): Promise<CheckResult[]> {
  const outcomes: CheckResult[] = [];
  for (const { what, remove } of scene.leftovers.splice(0).toReversed()) {
    const name = `delete ${what}`;
    const run = async (): Promise<void> => {
      await remove().catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return;
        throw new Error(`LEFT BEHIND: ${reasonOf(error)}`, { cause: error });
      });
    };
    outcomes.push(await outcomeOfRunning({ name, run }, scene));
  }
  return outcomes;
}

/** Runs the checks one after the other. At the end, always removes everything that the checks created. */
export async function runChecks(
  checks: readonly Check[],
  scene: Scene,
  { readOnly, onOutcome, signal }: RunOptions,
): Promise<CheckResult[]> {
  const outcomes: CheckResult[] = [];
  const report = (outcome: CheckResult): void => {
    outcomes.push(outcome);
    onOutcome(outcome);
  };
  const skip = (name: string, why: string): void => report({ name, state: "skipped", ms: 0, note: why });
  for (const check of checks) {
    if (signal.aborted) break;
    if (readOnly && check.writes) {
      skip(check.name, "--read-only");
      continue;
    }
    const outcome = await outcomeOfRunning(check, scene);
    report(outcome);
    if (check.essential && outcome.state !== "ok") {
      skip("everything else", `the other checks need "${check.name}"`);
      break;
    }
  }
  for (const outcome of await tidyUp(scene)) report(outcome);
  return outcomes;
}
