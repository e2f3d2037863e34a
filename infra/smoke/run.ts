import { ApiError } from "#client";

import { reasonOf } from "../local/command-line.ts";
import { type Scene, Skip } from "./scene.ts";

export type Check = {
  /** The family first, then what is done. */
  name: string;
  /** Whether it makes something. */
  writes?: true;
  /** Whether there is nothing more to see when it fails. */
  essential?: true;
  /** Does it, and may answer a remark. Throws where it fails, and `Skip` where it cannot be done. */
  run: (scene: Scene) => Promise<string | void>;
};

export type Outcome = { name: string; state: "ok" | "failed" | "skipped"; ms: number; note: string };

export type RunOptions = {
  readOnly: boolean;
  /** Told of each outcome as it is there. */
  onOutcome: (outcome: Outcome) => void;
  /** Ends the run before the next check; what was made is taken away all the same. */
  signal: AbortSignal;
};

/** Why a refusal is none of the product's faults: the token may not do it, or the account may not be changed. */
function excuseOf(error: unknown): string | undefined {
  if (error instanceof Skip) return error.message;
  if (!(error instanceof ApiError) || error.status !== 403) return undefined;
  const { required_capability: capability } = error.body as { required_capability?: string };
  if (error.code === "forbidden") return `the token lacks ${capability ?? "what it takes"}`;
  return error.code === "account_suspended" ? "the account may not be changed" : undefined;
}

function outcomeOf(name: string, error: unknown, ms: number): Outcome {
  const excuse = excuseOf(error);
  if (excuse !== undefined) return { name, state: "skipped", ms, note: excuse };
  const requestId = error instanceof ApiError && error.requestId ? ` (request ${error.requestId})` : "";
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return { name, state: "failed", ms, note: `${reasonOf(error)}${cause}${requestId}` };
}

async function outcomeOfRunning({ name, run }: Check, scene: Scene): Promise<Outcome> {
  const startedAt = performance.now();
  try {
    const note = (await run(scene)) ?? "";
    return { name, state: "ok", ms: performance.now() - startedAt, note };
  } catch (error) {
    return outcomeOf(name, error, performance.now() - startedAt);
  }
}

/** Takes away what is still there, the newest first. What cannot be taken away is a failure that names it. */
async function tidyUp(scene: Scene): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { what, remove } of scene.leftovers.splice(0).toReversed()) {
    const name = `take away ${what}`;
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

/** Makes the checks one after the other; whatever comes of them, nothing that they made is left. */
export async function runChecks(
  checks: readonly Check[],
  scene: Scene,
  { readOnly, onOutcome, signal }: RunOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const note = (outcome: Outcome): void => {
    outcomes.push(outcome);
    onOutcome(outcome);
  };
  const skip = (name: string, why: string): void => note({ name, state: "skipped", ms: 0, note: why });
  for (const check of checks) {
    if (signal.aborted) break;
    if (readOnly && check.writes) {
      skip(check.name, "--read-only");
      continue;
    }
    const outcome = await outcomeOfRunning(check, scene);
    note(outcome);
    if (check.essential && outcome.state !== "ok") {
      skip("everything else", `there is nothing to see without ${check.name}`);
      break;
    }
  }
  for (const outcome of await tidyUp(scene)) note(outcome);
  return outcomes;
}
