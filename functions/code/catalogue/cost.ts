import type { CodeFunction } from "./function.ts";

export const scoreLimit = 1000;

/** Scores are summed in parts of 1/25, so that adding up stays exact. */
export const scoreUnit = 25;

const providers = new Set(["registrar", "dns", "payments", "mail"]);

/** An argument as far as it is known before the program runs. */
type Given = { value?: unknown; unknown: readonly unknown[] };

/** The page size of a call to a list, as far as what is given is known; undefined for other functions. */
export function pageSizeOf({ route }: CodeFunction, given: Given | undefined): number | undefined {
  const schema = Object.hasOwn(route.query.shape, "page_size") ? route.query.shape["page_size"] : undefined;
  if (!schema) return undefined;
  if (given && given.unknown.length > 0) return 100;
  const parsed = schema.safeParse(given?.value);
  return typeof parsed?.data === "number" ? parsed.data : scoreUnit;
}

/** What a call counts, in units: 1, its page size / 25, or 5 when it reaches an outside provider. */
export function unitsOf(fn: CodeFunction, pageSize: number | undefined): number {
  const isOutside = fn.route.limit === "outbound" || fn.route.uses.some((port) => providers.has(port));
  return Math.max(isOutside ? 5 * scoreUnit : scoreUnit, pageSize ?? 0);
}
