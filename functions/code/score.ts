import type { CodeFunction } from "./code-function.ts";
import type { Literal } from "./literal-arguments.ts";
import { itemLimit } from "./machine.ts";
import type { Shape } from "./shape.ts";
import type { Comprehension, Expression } from "./syntax.ts";
import { callsAfter } from "./walk.ts";

export const scoreLimit = 1000;

/** Scores are summed in parts of 1/25, so that adding up stays exact. */
export const scoreUnit = 25;

const providers = new Set(["registrar", "dns", "payments", "mail"]);

/** The page size of a call to a list, as far as what is given is known; undefined for other functions. */
export function pageSizeOf({ route }: CodeFunction, given: Literal | undefined): number | undefined {
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

/** More than any program could go over; products of it are still numbers. */
const mostItems = 1_000_000_000;

/**
 * How many items a comprehension goes over at most: `over` as far as it is known, else the limit of what calls. Of a range
 * `count` is how far it counts.
 */
export function boundOf(over: Expression, { most }: Shape, count: number | undefined): number {
  if (over.kind !== "range") return most ?? itemLimit;
  return count === undefined ? itemLimit : Math.min(mostItems, Math.max(0, Math.ceil(count)));
}

/** Whether a clause calls for more items than it may, whatever the run brings: where that is known, and without a filter. */
export function callsForTooMany(node: Comprehension, place: number, count: number | undefined): boolean {
  const [clause, next] = node.clauses.slice(place, place + 2);
  if (clause?.kind !== "for" || next?.kind === "if") return false;
  const { over } = clause;
  const items = over.kind === "list" ? over.items.length : over.kind === "range" ? (count ?? 0) : 0;
  return items > itemLimit && callsAfter(node, place).length > 0;
}
