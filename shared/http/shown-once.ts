import * as z from "zod";

import type { Route } from "./route.ts";

/** Whether an answer of the route has a secret that is shown only once. */
export function holdsSecret({ shownOnce }: Pick<Route, "shownOnce">, answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const members = new Map<string, unknown>(Object.entries(answer));
  return shownOnce.some((name) => (members.get(name) ?? null) !== null);
}

/** Whether the route can answer without a secret. Such answers are stored for repeated requests. */
export function mayReplay({ shownOnce, output }: Pick<Route, "shownOnce" | "output">): boolean {
  if (!(output instanceof z.ZodObject)) return shownOnce.length === 0;
  const { shape } = output;
  return shownOnce.every((name) => [undefined, null].some((empty) => shape[name]?.safeParse(empty).success));
}
