import type { Log } from "../../shared/log.ts";
import type { Step } from "./checker.ts";
import type { NotKept } from "./envelope.ts";
import { reasonOf, saveSession, type Kept, type SessionPlace } from "./session.ts";

/**
 * Keeps in the session what the completed steps of a program gave names, or renews a session it only used. Values that
 * may hold a secret are never kept. Answers the variables that were not: nothing here makes a program fail.
 */
export async function keepVariables(
  place: SessionPlace,
  completed: readonly { step: Step; value: unknown }[],
  isUsed: boolean,
  log: Log,
): Promise<NotKept[]> {
  const changes = changesOf(completed);
  if (changes.size === 0 && !isUsed) return [];
  try {
    const { variables } = await saveSession(place, changes);
    return [...changes.keys()].flatMap((name): NotKept[] => {
      const kept = variables.get(name) ?? { gone: "session_too_large" };
      return "gone" in kept ? [{ name, code: kept.gone, message: reasonOf[kept.gone] }] : [];
    });
  } catch (error) {
    log.error("session not stored", { error: String(error) });
    const message = "It could not be stored just now: the calls stand, so send only this assignment again.";
    return [...changes.keys()].map((name) => ({ name, code: "not_stored", message }));
  }
}

/** The last value of each name; what was named before the program forgot its session is forgotten with it. */
function changesOf(completed: readonly { step: Step; value: unknown }[]): Map<string, Kept> {
  const ended = completed.findLastIndex(({ step }) => step.sites.some(({ call }) => call.name === "auth.session.end"));
  const changes = new Map<string, Kept>();
  for (const { step, value } of completed.slice(ended + 1)) {
    const { target } = step.statement;
    if (target !== undefined) changes.set(target, step.secret ? { gone: "secret" } : { value });
  }
  return changes;
}
