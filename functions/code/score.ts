import type { CodeFunction } from "./code-function.ts";
import { itemLimit } from "./machine.ts";
import type { Shape } from "./shape.ts";
import type { Call, Expression } from "./syntax.ts";

export const scoreLimit = 1000;

/** Scores are summed in parts of 1/25, so that adding up stays exact. */
export const scoreUnit = 25;

const providers = new Set(["registrar", "dns", "payments", "mail"]);

/** The page size of a call to a list, as far as it is known; undefined for other functions. */
export function pageSizeOf(call: Call, fn: CodeFunction): number | undefined {
  if (!Object.hasOwn(fn.route.query.shape, "page_size")) return undefined;
  const given = call.args.find(({ name }) => name === "page_size");
  const parsed = fn.route.query.shape["page_size"]?.safeParse(
    given?.value.kind === "literal" ? given.value.value : undefined,
  );
  if (given && given.value.kind !== "literal") return 100;
  return typeof parsed?.data === "number" ? parsed.data : scoreUnit;
}

/** What a call counts, in units: 1, its page size / 25, or 5 when it reaches an outside provider. */
export function unitsOf(fn: CodeFunction, pageSize: number | undefined): number {
  const isOutside = fn.route.limit === "outbound" || fn.route.uses.some((port) => providers.has(port));
  return Math.max(isOutside ? 5 * scoreUnit : scoreUnit, pageSize ?? 0);
}

/** More than any program could go over; products of it are still numbers. */
const mostItems = 1_000_000_000;

/** How many items a comprehension goes over at most: `over` as far as it is known, else the limit of what calls. */
export function boundOf(over: Expression, { most }: Shape): number {
  if (over.kind === "range") {
    const { of } = over;
    if (of.kind !== "literal" || typeof of.value !== "number") return itemLimit;
    return Math.min(mostItems, Math.max(0, Math.ceil(of.value)));
  }
  return most ?? itemLimit;
}
