import type { Route } from "../../../shared/http/route.ts";
import { holdsSecret } from "../../../shared/http/shown-once.ts";
import type { CheckedStatement } from "../checker/checker.ts";
import type { Call } from "../language/ast.ts";

/** The calls of a program whose answers are stored nowhere, as they held a secret, or an address that is a key itself. */
export type Withheld = Map<Call, "secret" | "address">;

/** Notes what a call answered, if that is not to be stored. */
export function noteAnswer(withheld: Withheld, call: Call, route: Route, output: unknown): void {
  if (holdsSecret(route, output)) withheld.set(call, "secret");
  else if (!route.kept && !withheld.has(call)) withheld.set(call, "address");
}

/** Which of these steps, the first ones of a program, have a value that may hold what such a call answered. */
export function withheldSteps(
  steps: readonly Pick<CheckedStatement, "sites" | "needs">[],
  withheld: Withheld,
): boolean[] {
  const found: boolean[] = [];
  for (const { sites, needs } of steps) {
    const isFrom = [...needs.values()].some((place) => place !== undefined && found[place]);
    found.push(isFrom || sites.some(({ call }) => withheld.has(call)));
  }
  return found;
}
