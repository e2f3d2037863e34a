import type { Endpoint } from "../core/endpoint.ts";
import type { Budget } from "./budget.ts";
import { publicEndpoints, type AddressSettings, type Zone, type ZoneCache, zoneOf } from "./delegation.ts";
import { faults, outcomeOf, type Fault, type Outcome } from "./outcome.ts";
import { ask, type Question } from "./transport.ts";

/** The settings of a resolver, and the cache that a walk uses. */
export type ResolverState = { root: Zone; addressSettings: AddressSettings; cuts: ZoneCache; tryTimeoutMs: number };

/** One way through the DNS: from the root or a cached zone down to the servers that answer one question. */
export type Walk = {
  resolver: ResolverState;
  budget: Budget;
  /** The names of nameservers that are being looked up for this walk, outermost first. */
  lookups: readonly string[];
};

const maxReferrals = 16;
const maxLookupsDeep = 3;

const isFaulty = (outcome: Outcome): outcome is Extract<Outcome, { kind: "useless" }> => outcome.kind === "useless";

/** The outcome of a walk whose budget is used up; undefined if the budget is not used up. */
function lackOf({ budget }: Walk): Outcome | undefined {
  const lack = budget.lacks();
  return lack && { kind: "useless", fault: `out of ${lack}` };
}

async function askServer(endpoint: Endpoint, question: Question, zone: string, walk: Walk): Promise<Outcome> {
  const { budget, resolver } = walk;
  const message = await ask(endpoint, question, { budget, tryTimeoutMs: resolver.tryTimeoutMs });
  if (!message) return lackOf(walk) ?? { kind: "useless", fault: "silent" };
  return outcomeOf(message, question, zone);
}

/**
 * Looks up the addresses of a nameserver, from the root or the nearest cached zone on. An alias is not accepted (RFC
 * 2181 §10.3).
 */
async function lookUpHost(host: string, walk: Walk): Promise<Endpoint[]> {
  const { resolver, lookups } = walk;
  if (lookups.includes(host) || lookups.length >= maxLookupsDeep) return [];
  const inner = { ...walk, lookups: [...lookups, host] };
  for (const type of ["A", "AAAA"]) {
    const { outcome } = await walkDown({ name: host, type }, inner);
    if (outcome.kind === "found") {
      const addresses = outcome.records.flatMap((found) => ("address" in found ? [found.address] : []));
      return publicEndpoints(addresses, resolver.addressSettings);
    }
    if (outcome.kind !== "none") return [];
  }
  return [];
}

/** The servers of a zone. The addresses of hosts without glue are looked up last. */
export async function* serversOf({ endpoints, hosts }: Zone, walk: Walk): AsyncGenerator<Endpoint> {
  yield* endpoints;
  for (const host of hosts) {
    if (walk.budget.lacks()) return;
    yield* await lookUpHost(host, walk);
  }
}

/** The more informative of two faults, by the order of `faults`. */
const moreInformative = (one: Fault, other: Fault): Fault =>
  faults.findIndex((fault) => fault === one) > faults.findIndex((fault) => fault === other) ? one : other;

/**
 * The first usable answer from the servers of a zone. If no server gives one, the servers that are silent or fail are
 * asked once more.
 */
async function askZone(zone: Zone, question: Question, walk: Walk): Promise<Outcome> {
  let fault: Fault = "unreachable";
  const again: Endpoint[] = [];
  async function* rounds(): AsyncGenerator<Endpoint> {
    yield* serversOf(zone, walk);
    yield* again.splice(0);
  }
  for await (const endpoint of rounds()) {
    const outcome = await askServer(endpoint, question, zone.name, walk);
    if (!isFaulty(outcome)) return outcome;
    fault = moreInformative(outcome.fault, fault);
    if (outcome.fault === "silent" || outcome.fault === "failing") again.push(endpoint);
  }
  return lackOf(walk) ?? { kind: "useless", fault };
}

/**
 * Asks from the root or the nearest cached zone down, by referrals, until the outcome is not a referral. `zone` is the
 * zone whose servers gave the outcome. A referral to a zone for which `isEnd` is true ends the walk too, and this
 * zone is not taken from the cache.
 */
export async function walkDown(
  question: Question,
  walk: Walk,
  isEnd: (zone: string) => boolean = () => false,
): Promise<{ zone: string; outcome: Outcome }> {
  const { cuts, addressSettings, root } = walk.resolver;
  const cachedZone = cuts.find(question.name);
  let zone = cachedZone === undefined || isEnd(cachedZone.name) ? root : cachedZone;
  for (let referrals = 0; referrals < maxReferrals; referrals += 1) {
    const outcome = await askZone(zone, question, walk);
    if (isFaulty(outcome)) cuts.drop(zone.name);
    if (outcome.kind !== "referral" || isEnd(outcome.referral.zone)) return { zone: zone.name, outcome };
    const { referral } = outcome;
    zone = zoneOf(referral, addressSettings);
    cuts.keep(zone, referral.ttl);
  }
  return { zone: zone.name, outcome: { kind: "useless", fault: "lame" } };
}
