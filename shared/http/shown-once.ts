import * as z from "zod";

import type { Route } from "./route.ts";

type Showing = Pick<Route, "shownOnce">;

/** Whether this answer of the route contains one of the members that are shown only once. */
export function holdsSecret({ shownOnce }: Showing, answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const members = new Map<string, unknown>(Object.entries(answer));
  return shownOnce.some((name) => (members.get(name) ?? null) !== null);
}

/** Whether the route has answers without secrets, which are stored for repeated requests. */
export function mayReplay({ shownOnce, output }: Pick<Route, "shownOnce" | "output">): boolean {
  if (!(output instanceof z.ZodObject)) return shownOnce.length === 0;
  const { shape } = output;
  return shownOnce.every((name) => [undefined, null].some((none) => shape[name]?.safeParse(none).success));
}
