import { quoteText } from "../../core/text.ts";
import type { DnsAnswer, Resolver } from "../../dns/answer.ts";
import { openBudget, type Budget } from "../../dns/budget.ts";
import { type Term, isSpf, lookupTerms, mostLookups } from "./spf.ts";

/** The largest number of look-ups that find nothing, before receivers reject a record (RFC 7208 §4.6.4). */
const mostVoids = 2;
const timeoutMs = 8_000;
const maxQueries = 100;

/**
 * The cost of one term of an SPF record: how many look-ups receivers make for the term, and how many of these find
 * nothing. A term with a `fault` makes receivers reject the whole record. An include or a redirect is `unknown` if the
 * DNS gave no answer about its record. Other terms are never `unknown`.
 */
type TermCost = { term: string; lookups: number; voids: number; fault?: string; unknown?: string };

/**
 * The state of the count for a record. `lookups` is the number of look-ups so far. Once it is above 10, the DNS is not
 * asked any more.
 */
type Walk = { resolver: Resolver; budget: Budget; lookups: number };

/**
 * The name in a term, or the domain of the record if the term has no name. Undefined for a name with a macro, and for
 * `ptr`.
 */
function targetOf({ name, isModifier, value }: Term, domain: string): string | undefined {
  const argument = isModifier ? value : value.replace(/^:/, "");
  // Only the mechanisms `a` and `mx` can have a prefix length, such as `/24`.
  const mayHaveLength = !isModifier && (name === "a" || name === "mx");
  const spec = mayHaveLength ? argument.replace(/\/.*$/, "") : argument;
  if (spec.includes("%") || name === "ptr") return undefined;
  return spec === "" ? domain : spec.toLowerCase().replace(/\.$/, "");
}

const isVoid = ({ status }: DnsAnswer): boolean => status === "none" || status === "absent";

/** The cost of a term. `path` has the names of the records from the domain to the record with this term. */
async function costOf(term: Term, path: readonly string[], walk: Walk): Promise<TermCost> {
  const cost: TermCost = { term: term.text.toLowerCase().replace(/^\+/, ""), lookups: 1, voids: 0 };
  const target = targetOf(term, path.at(-1) ?? "");
  walk.lookups += 1;
  if (target === undefined || walk.lookups > mostLookups) return cost;
  if (term.name === "include" || term.name === "redirect") return includeCost(cost, target, path, walk);
  const answer = await walk.resolver.resolve(target, term.name === "mx" ? "MX" : "A", walk.budget);
  return { ...cost, voids: isVoid(answer) ? 1 : 0 };
}

async function includeCost(cost: TermCost, name: string, path: readonly string[], walk: Walk): Promise<TermCost> {
  if (path.includes(name)) {
    return { ...cost, fault: `${[...path.slice(path.indexOf(name)), name].join(" → ")} is a circle` };
  }
  const answer = await walk.resolver.resolve(name, "TXT", walk.budget);
  if (answer.status === "unknown") return { ...cost, unknown: `${name} cannot be read: ${answer.reason}` };
  const texts =
    answer.status === "found" ? answer.records.flatMap((one) => (one.type === "TXT" ? [one.text] : [])) : [];
  const [text, ...more] = texts.filter(isSpf);
  if (text === undefined) return { ...cost, voids: isVoid(answer) ? 1 : 0, fault: `${name} has no SPF record` };
  if (more.length > 0) return { ...cost, fault: `${name} has several SPF records` };
  const read = lookupTerms(text);
  if ("fault" in read) return { ...cost, fault: `the SPF record of ${name} is not valid: ${read.fault}` };
  let counted = cost;
  for (const term of read.terms) {
    if (walk.lookups > mostLookups || counted.fault !== undefined) break;
    counted = withNested(counted, await costOf(term, [...path, name], walk));
  }
  return counted;
}

/** Adds the cost of a term in an included record to the cost of the include. */
const withNested = (one: TermCost, { lookups, voids, fault, unknown }: TermCost): TermCost => ({
  ...one,
  lookups: one.lookups + lookups,
  voids: one.voids + voids,
  ...(fault === undefined ? {} : { fault }),
  ...(unknown === undefined ? {} : { unknown }),
});

/** A term that makes receivers reject an SPF record. The message gives the reason and the next step. */
type SpfFault = { term: string; message: string };

/** The result of counting: a fault, a reason why nothing is known, or the number of look-ups. */
export type SpfLookups = { fault: SpfFault } | { unknown: string } | { lookups: number };

/**
 * Counts the look-ups that receivers make for the SPF record of a domain (RFC 7208 §4.6.4). The included records are
 * resolved term by term.
 * - Faults are an invalid term, more than 10 look-ups, more than 2 look-ups that find nothing, a circle, and an include
 *   or a redirect whose name does not have one valid SPF record.
 * - Counting stops at the first faulty term, and once it has counted more than 10 look-ups.
 * - A term with a macro counts 1.
 * - `own` is the name of the product's own include. This include counts at least 1, and exactly 1 if it is faulty or
 *   cannot be read. This include is never the `term` of a fault.
 * - Counting takes 8 seconds at most, and no longer than the budget `within` allows.
 */
export async function countLookups(
  { domain, text, own }: { domain: string; text: string; own: string },
  resolver: Resolver,
  within?: Budget,
): Promise<SpfLookups> {
  const read = lookupTerms(text);
  if ("fault" in read) return { fault: { term: text, message: `${read.fault}.` } };
  const walk = { resolver, budget: openBudget(timeoutMs, maxQueries, within), lookups: 0 };
  const ownTerm = `include:${own}`;
  const costs = await costsOf(read.terms, domain, ownTerm, walk);
  const faulty = costs.find(({ fault }) => fault !== undefined);
  if (faulty) {
    const message = `${faulty.term} makes receivers reject the SPF record, because ${faulty.fault}. Correct the fault at its source, or remove the term from this record.`;
    return { fault: { term: faulty.term, message } };
  }
  const unknown = costs.find((cost) => cost.unknown !== undefined)?.unknown;
  const counted = unknown === undefined ? { lookups: total(costs, "lookups") } : { unknown };
  return tooMuch(costs, ownTerm) ?? counted;
}

/** The costs of the terms of a domain's record, up to the first term that has a fault or exceeds 10 look-ups. */
async function costsOf(terms: readonly Term[], domain: string, ownTerm: string, walk: Walk): Promise<TermCost[]> {
  const costs: TermCost[] = [];
  for (const term of terms) {
    const before = walk.lookups;
    const cost = await costOf(term, [domain], walk);
    const isOwnFault = cost.term === ownTerm && (cost.fault ?? cost.unknown) !== undefined;
    if (isOwnFault) walk.lookups = before + 1;
    costs.push(isOwnFault ? { term: ownTerm, lookups: 1, voids: 0 } : cost);
    if (walk.lookups > mostLookups || costs.at(-1)?.fault !== undefined) break;
  }
  return costs;
}

const total = (costs: readonly TermCost[], member: "lookups" | "voids"): number =>
  costs.reduce((count, cost) => count + cost[member], 0);

/**
 * The fault of a record with too many look-ups, or with too many look-ups that find nothing. The term of the fault is
 * the customer's term that costs most.
 */
function tooMuch(costs: readonly TermCost[], ownTerm: string): { fault: SpfFault } | undefined {
  const costliest = (member: "lookups" | "voids"): TermCost | undefined =>
    costs.filter(({ term }) => term !== ownTerm).toSorted((a, b) => b[member] - a[member])[0];
  const lookups = total(costs, "lookups");
  const [large, empty] = [costliest("lookups"), costliest("voids")];
  if (lookups > mostLookups && large) {
    const each = costs.map((cost) => `${quoteText(cost.term)} ${cost.lookups}`).join(", ");
    const message = `The SPF record needs more than ${mostLookups} DNS look-ups, and receivers stop at ${mostLookups}. The first ${lookups} look-ups are: ${each}. Remove ${large.term}, or an include in its record.`;
    return { fault: { term: large.term, message } };
  }
  const voids = total(costs, "voids");
  if (voids <= mostVoids || !empty) return undefined;
  const message = `${voids} names in the SPF record have no address or do not exist, and receivers stop at ${mostVoids}. Remove ${empty.term}, or the names in its record that do not exist.`;
  return { fault: { term: empty.term, message } };
}
