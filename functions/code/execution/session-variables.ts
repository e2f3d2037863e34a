import { Problem } from "../../../shared/core/errors.ts";
import type { Door } from "../../../shared/http/invoke.ts";
import type { Route } from "../../../shared/http/route.ts";
import { holdsSecret } from "../../../shared/http/shown-once.ts";
import type { CheckedStatement } from "../checker/checker.ts";
import type { NotKept } from "../envelope.ts";
import type { Call } from "../language/ast.ts";
import { clip } from "../language/messages.ts";
import { type RequestCharges, unitsToWrite } from "../sessions/charges.ts";
import {
  type Session,
  type SessionPlace,
  type StoredVariable,
  reasonOf,
  renewSession,
  saveSession,
} from "../sessions/session.ts";

/** The calls of a program whose answers are stored nowhere, as they held a secret, or an address that is a key itself. */
export type Withheld = Map<Call, "secret" | "address">;

/** Notes what a call answered, if that is not to be stored. */
export function noteAnswer(withheld: Withheld, call: Call, route: Route, output: unknown): void {
  if (holdsSecret(route, output)) withheld.set(call, "secret");
  else if (!route.kept && !withheld.has(call)) withheld.set(call, "address");
}

/** Which of these steps, the first ones of a program, have a value that may hold what such a call answered. */
function withheldSteps(steps: readonly Pick<CheckedStatement, "sites" | "needs">[], withheld: Withheld): boolean[] {
  const found: boolean[] = [];
  for (const { sites, needs } of steps) {
    const isFrom = [...needs.values()].some((place) => place !== undefined && found[place]);
    found.push(isFrom || sites.some(({ call }) => withheld.has(call)));
  }
  return found;
}

/** What a program did with its session. */
type Use = {
  completed: readonly { step: CheckedStatement; value: unknown }[];
  withheld: Withheld;
  /** The session as it was loaded, if its variables were used. */
  session: Session | undefined;
  /** Whether it may only read: what others left in the session then stays as it is. */
  readOnly: boolean;
};

/** The variables that were not kept: their number where not all of them are named. */
export type UnsavedVariables = { not_kept: NotKept[]; not_kept_total?: number };

const namedLosses = 20;

/**
 * Keeps in the session what the completed steps of a program gave names, or renews a session it only used. Values that
 * may hold a secret that a call answered are never kept. Answers what was not kept: nothing here makes a program fail.
 */
export async function saveVariables(
  place: SessionPlace,
  { completed, withheld, session, readOnly }: Use,
  { log }: Pick<Door, "log">,
  purse: RequestCharges,
): Promise<UnsavedVariables | undefined> {
  const changes = changesOf(completed, withheld);
  const names = [...changes.keys()];
  const lost = (code: NotKept["code"], message: string) => lossesOf(names.map((name) => ({ name, code, message })));
  try {
    if (readOnly || changes.size === 0) {
      if (session) await renewSession(place, session);
      return lost("read_only", "A program that may only read leaves no variables: send it where programs may write.");
    }
    const { variables } = await saveSession(place, changes, (bytes) => purse.pay(unitsToWrite(bytes)));
    return lossesOf(
      names.flatMap((name): NotKept[] => {
        const kept = variables.get(name) ?? { gone: "session_too_large" };
        return "gone" in kept ? [{ name, code: kept.gone, message: reasonOf[kept.gone] }] : [];
      }),
    );
  } catch (error) {
    const isLimited = error instanceof Problem && error.code === "rate_limited";
    if (!isLimited) log.error("session not stored", { error: String(error) });
    const why = isLimited ? " Storing so much counts for the rate limit, which has no room for it." : "";
    return lost(
      "not_stored",
      `It could not be stored just now: the calls stand, so send only this assignment again.${why}`,
    );
  }
}

function lossesOf(losses: readonly NotKept[]): UnsavedVariables | undefined {
  if (losses.length === 0) return undefined;
  const named = losses.slice(0, namedLosses).map((loss) => ({ ...loss, name: clip(loss.name) }));
  return { not_kept: named, ...(losses.length > namedLosses ? { not_kept_total: losses.length } : {}) };
}

/** The last value of each name; what was named before the program forgot its session is forgotten with it. */
function changesOf(completed: Use["completed"], withheld: Withheld): Map<string, StoredVariable> {
  const isWithheld = withheldSteps(
    completed.map(({ step }) => step),
    withheld,
  );
  const ended = completed.findLastIndex(({ step }) => step.sites.some(({ call }) => call.name === "auth.session.end"));
  const changes = new Map<string, StoredVariable>();
  for (const [place, { step, value }] of completed.entries()) {
    const { target } = step.statement;
    if (place <= ended || target === undefined) continue;
    changes.set(target, isWithheld[place] ? { gone: "secret" } : { value });
  }
  return changes;
}
