import { scoreUnit } from "../catalogue/function.ts";
import type { Call } from "../language/ast.ts";
import { callLimit } from "../language/limits.ts";

/**
 * The cost of one call: its score in units in a run (`units`) and in a dry run (`dryUnits`), and the most times that
 * the program makes the call (`times`).
 */
export type CallCost = { call: Call; units: number; dryUnits: number; times: number };

/** The highest score that a run (`units`) or a dry run (`dryUnits`) can reach within `callLimit` calls. */
export function scoreOf(costs: readonly CallCost[], member: "units" | "dryUnits"): number {
  let [left, total] = [callLimit, 0];
  for (const { times, [member]: units } of costs.toSorted((a, b) => b[member] - a[member])) {
    const made = Math.min(left, times);
    left -= made;
    total += made * units;
  }
  return total / scoreUnit;
}

const totalOf = ({ units, times }: CallCost): number => units * Math.min(times, callLimit);

/** The call that would have the highest score in a run if it were the only call of the program. */
export const costliestOf = (costs: readonly CallCost[]): CallCost | undefined =>
  costs.toSorted((a, b) => totalOf(b) - totalOf(a))[0];

/** Says how to lower the score of a program whose costliest call is `call`, and what the call costs. */
export function howToLowerScore({ call, units, times }: CallCost): string {
  const [score, most] = [units / scoreUnit, Math.min(times, callLimit)];
  const part = `${call.name} in line ${call.at.line} counts ${score}${most > 1 ? ` for each of up to ${most} calls` : ""}`;
  const ways = [
    ...(most > 1 ? ["go over fewer items, as in `[… for x in xs[:20]]`"] : []),
    ...(score > 1 && call.args.some(({ name }) => name === "page_size") ? ["ask for a smaller `page_size`"] : []),
  ];
  return `${ways.join(", or ") || "make fewer calls in one program"}. ${part}.`;
}
