import { itemLimit } from "../interpreter/interpreter.ts";
import { type Comprehension, type Expression, callsAfter } from "../language/ast.ts";
import type { StaticType } from "./types.ts";

/** More than any program could go over; products of it are still numbers. */
const mostItems = 1_000_000_000;

/**
 * How many items a comprehension goes over at most: `over` as far as it is known, else the limit of what calls. Of a range
 * `count` is how far it counts.
 */
export function maxItems(over: Expression, { most }: StaticType, count: number | undefined): number {
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
