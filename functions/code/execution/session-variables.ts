import { Problem } from "../../../shared/core/errors.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { type Route, holdsSecret } from "../../../shared/http/route.ts";
import type { CheckedStatement } from "../checker/checker.ts";
import type { NotKept } from "../envelope.ts";
import type { Call } from "../language/ast.ts";
import { clip } from "../language/messages.ts";
import { type RequestCharges, unitsToWrite } from "../sessions/charges.ts";
import {
  type Session,
  type SessionRef,
  type StoredVariable,
  dropMessages,
  renewSession,
  saveSession,
} from "../sessions/session.ts";

/** The calls of a program whose answers must not be stored, because an answer has a secret or a signed URL. */
export type Withheld = Map<Call, "secret" | "address">;

/**
 * Records a call whose answer must not be stored. A call in a comprehension has several answers. If one of them has a
 * secret, the call is recorded as `secret`.
 */
export function noteAnswer(withheld: Withheld, call: Call, route: Route, output: unknown): void {
  if (holdsSecret(route, output)) withheld.set(call, "secret");
  else if (!route.codeMode.storesAnswer && !withheld.has(call)) withheld.set(call, "address");
}

/**
 * Tells for each step whether its value may contain an answer that must not be stored. `steps` begin with the first
 * step of the program.
 */
function withheldSteps(steps: readonly Pick<CheckedStatement, "calls" | "needs">[], withheld: Withheld): boolean[] {
  const isWithheld: boolean[] = [];
  for (const { calls, needs } of steps) {
    const readsWithheld = [...needs.values()].some((step) => step !== undefined && isWithheld[step]);
    isWithheld.push(readsWithheld || calls.some(({ call }) => withheld.has(call)));
  }
  return isWithheld;
}

/** How a program used its session. */
type SessionUse = {
  completed: readonly { step: CheckedStatement; value: unknown }[];
  withheld: Withheld;
  /** The index of the last step that ended the session, or -1. Variables that were assigned until then are gone. */
  endedStep: number;
  /** The session as it was loaded, if the program used its variables. */
  session: Session | undefined;
  /** Whether the program may only read. Its session then keeps all variables unchanged. */
  readOnly: boolean;
  /**
   * The variables that keep their former value, because a repeat of the failed program reads them again. Empty if the
   * program is not to be repeated.
   */
  unchanged: ReadonlySet<string>;
};

/** The variables that were not kept. `not_kept_total` is their number, if `not_kept` does not name all of them. */
export type UnsavedVariables = { not_kept: NotKept[]; not_kept_total?: number };

const keepsFormerValue =
  "The variable keeps its former value, because the failed program reads this value and a repeat must read the same value. If the error was temporary, repeat the program. If not, send only this assignment, with a new request_id.";

/** The most variables that `not_kept` names. */
const namedVariables = 20;

/** The variables whose values a program takes from its session. */
export const readFromSession = (steps: readonly Pick<CheckedStatement, "needs">[]): Set<string> =>
  new Set(steps.flatMap(({ needs }) => [...needs].flatMap(([name, step]) => (step === undefined ? [name] : []))));

/**
 * Saves the variables that completed steps assigned, except those that keep their former value. This renews the
 * session. If there is nothing to save, renews the session only if the program has read one of its variables. A value
 * that may contain a secret or a signed URL is never saved. A program that may only read saves nothing. Returns the
 * variables that were not saved. If saving fails, returns all assigned variables, and does not throw the error.
 */
export async function saveVariables(
  ref: SessionRef,
  { completed, withheld, endedStep, session, readOnly, unchanged }: SessionUse,
  { log }: Pick<InvocationContext, "log">,
  charges: RequestCharges,
): Promise<UnsavedVariables | undefined> {
  const assigned = assignedVariables({ completed, withheld, endedStep });
  const names = [...assigned.keys()];
  const changes = new Map([...assigned].filter(([name]) => !unchanged.has(name)));
  const former = names
    .filter((name) => unchanged.has(name))
    .map((name) => ({ name, code: "not_stored" as const, message: keepsFormerValue }));
  const lost = (code: NotKept["code"], message: string) =>
    unsavedVariables(names.map((name) => ({ name, code, message })));
  // A session that the program has ended must not come back.
  const loaded = endedStep < 0 ? session : undefined;
  try {
    if (readOnly || changes.size === 0) {
      if (loaded) await renewSession(ref, loaded);
      if (!readOnly) return unsavedVariables(former);
      return lost("read_only", "A program in service_query keeps no variables: send the program by service_execute.");
    }
    const { variables } = await saveSession(ref, changes, {
      charge: (bytes) => charges.charge(unitsToWrite(bytes)),
      loaded,
    });
    return unsavedVariables([
      ...former,
      ...[...changes.keys()].flatMap((name): NotKept[] => {
        const kept = variables.get(name) ?? { gone: "session_too_large" };
        return "gone" in kept ? [{ name, code: kept.gone, message: dropMessages[kept.gone] }] : [];
      }),
    ]);
  } catch (error) {
    const isLimited = error instanceof Problem && error.code === "rate_limited";
    if (!isLimited) log.error("session not stored", { error: String(error) });
    const why = isLimited ? " The rate limit has no room for the cost of storing it." : "";
    return lost(
      "not_stored",
      `It could not be stored. The effects of the calls remain, so send only this assignment again.${why}`,
    );
  }
}

function unsavedVariables(unsaved: readonly NotKept[]): UnsavedVariables | undefined {
  if (unsaved.length === 0) return undefined;
  const named = unsaved.slice(0, namedVariables).map((loss) => ({ ...loss, name: clip(loss.name) }));
  return { not_kept: named, ...(unsaved.length > namedVariables ? { not_kept_total: unsaved.length } : {}) };
}

/** The last value of each assigned variable. Variables that were assigned before the session ended are left out. */
function assignedVariables({
  completed,
  withheld,
  endedStep,
}: Pick<SessionUse, "completed" | "withheld" | "endedStep">): Map<string, StoredVariable> {
  const isWithheld = withheldSteps(
    completed.map(({ step }) => step),
    withheld,
  );
  const changes = new Map<string, StoredVariable>();
  for (const [index, { step, value }] of completed.entries()) {
    const { target } = step.statement;
    if (index <= endedStep || target === undefined) continue;
    changes.set(target, isWithheld[index] ? { gone: "secret" } : { value });
  }
  return changes;
}
