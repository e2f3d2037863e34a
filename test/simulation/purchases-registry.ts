import { yearsAfter } from "../../shared/core/time.ts";
import type { Offer, RegistrarOperation } from "../../shared/providers/registrar/registrar.ts";
import type { Random } from "./random.ts";

/** One registration at the registrar, as it is; instants are milliseconds since 1970. `tag` is whose it is. */
export type Registered = {
  id: string;
  name: string;
  tag: string;
  begunMs: number;
  /** From when on a search finds it. */
  foundMs: number;
  settlesMs: number;
  outcome: "succeeded" | "failed";
  /** From when on it is shown among the names that are ours. */
  shownMs: number;
  /** From when on it is not ours any more, once it was given back. */
  goneMs: number;
  /** How long it lasts if it is not renewed. */
  termMs: number;
  nameservers: readonly string[];
};

/** One renewal at the registrar: of which registration, and what pays for it. */
export type Renewed = Pick<Registered, "id" | "name" | "begunMs" | "foundMs" | "settlesMs" | "outcome" | "shownMs"> & {
  of: string;
  holdId: string;
  years: number;
};

type Listing = { status: Offer["status"]; price: number };

export type Registry = {
  operations: Registered[];
  renewals: Renewed[];
  listings: Map<string, Listing>;
  /** The names of which something changed but by our own doing. */
  unsettled: Set<string>;
  /** How far its clock is behind ours. */
  behindMs: number;
  mood: Mood & { refusing: number };
};

/** How often the registrar is silent, takes its time, and refuses for whatever reason; from 0 (never) to 1. */
export type Mood = { silent: number; slow: number };

export const calm: Registry["mood"] = { silent: 0, refusing: 0, slow: 0 };

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/** How long after the process began that made it a call may still arrive: when the platform has ended it for sure. */
export const lifetimeMs = minuteMs;
/** How long after it began a registration is found by whoever searches for it. */
const foundWithinMs = 9 * minuteMs;
/** How long a name may lag behind its operation. */
const lagMs = 10 * minuteMs;

export function newRegistry(random: Random): Registry {
  const names = ["amber", "birch", "cedar", "daisy", "elder", "fern"].slice(0, random.pick([1, 2, 4, 6]));
  const listings = names.map((name) => [`${name}.com`, { status: "available", price: drawPrice(random) }] as const);
  return {
    operations: [],
    renewals: [],
    listings: new Map(listings),
    unsettled: new Set(),
    behindMs: random.pick([0, random.below(4 * minuteMs)]),
    mood: {
      silent: random.pick([0, 0.1, 0.4]),
      refusing: random.pick([0, 0.1, 0.3]),
      slow: random.pick([0, 0.1, 0.4]),
    },
  };
}

const drawPrice = (random: Random): number => random.pick([900, 1_200, random.between(500, 2_000)]);

const often = <T>(random: Random, rare: T, common: T, chance: number): T => (random.chance(chance) ? rare : common);

/** How and when an operation will end, and when that is seen. */
export function drawCourse(registry: Pick<Registry, "behindMs">, random: Random, nowMs: number) {
  const longest = random.pick([0, 0, 0, 10 * secondMs, 5 * minuteMs, 6 * 60 * minuteMs]);
  const settlesMs = nowMs + random.between(0, longest);
  return {
    begunMs: nowMs - registry.behindMs,
    foundMs: nowMs + often(random, random.below(foundWithinMs), 0, 0.5),
    settlesMs,
    outcome: often(random, "failed" as const, "succeeded" as const, 0.25),
    shownMs: settlesMs + often(random, random.below(lagMs), 0, 0.3),
  };
}

/** Begins to register a name: its course is drawn now. */
export function begin(
  registry: Registry,
  random: Random,
  about: { id: string; name: string; tag: string },
  nowMs: number,
) {
  const operation: Registered = {
    ...about,
    ...drawCourse(registry, random, nowMs),
    goneMs: Infinity,
    termMs: random.pick([365, 365, 40, 25]) * 24 * 60 * minuteMs,
    nameservers: [],
  };
  registry.operations.push(operation);
  return operation;
}

/** Begins to renew a name: its course is drawn now. */
export function beginRenewal(
  registry: Registry,
  random: Random,
  about: Pick<Renewed, "id" | "name" | "of" | "holdId" | "years">,
  nowMs: number,
): Renewed {
  const renewal = { ...about, ...drawCourse(registry, random, nowMs) };
  registry.renewals.push(renewal);
  return renewal;
}

/** When a registration ends, by the renewals that `counts` says are to be counted. */
export function endOf(
  { renewals }: Registry,
  { id, settlesMs, termMs }: Registered,
  counts: (renewal: Renewed) => boolean,
): Date {
  const years = renewals
    .filter((renewal) => renewal.of === id && renewal.outcome === "succeeded" && counts(renewal))
    .reduce((sum, renewal) => sum + renewal.years, 0);
  return yearsAfter(new Date(settlesMs + termMs), years);
}

export const isRunning = ({ settlesMs }: Pick<Registered, "settlesMs">, nowMs: number): boolean => nowMs < settlesMs;

export const isOurs = ({ outcome, settlesMs, goneMs }: Registered, nowMs: number): boolean =>
  outcome === "succeeded" && settlesMs <= nowMs && nowMs < goneMs;

/** The operation that holds a name at a moment, or that runs to get the name. */
export const operationHolding = ({ operations }: Registry, name: string, nowMs: number): Registered | undefined =>
  operations.find((one) => one.name === name && (isRunning(one, nowMs) || isOurs(one, nowMs)));

export function stateOf(
  operation: Pick<Registered, "id" | "outcome" | "settlesMs">,
  nowMs: number,
): RegistrarOperation {
  const { id, outcome } = operation;
  if (isRunning(operation, nowMs)) return { id, state: "running" };
  return outcome === "failed" ? { id, state: "failed", reason: "It failed." } : { id, state: "succeeded" };
}

export function offerOf(registry: Registry, name: string, nowMs: number): Offer {
  const { status, price } = registry.listings.get(name) ?? { status: "unsupported_tld", price: 0 };
  if (operationHolding(registry, name, nowMs)) return { name, status: "unavailable" };
  return { name, status, price, renewalPrice: price };
}

/** Gives a name back, which takes the registry a while now and then. */
export function giveBack(operation: Registered, random: Random, nowMs: number): void {
  operation.goneMs = nowMs + often(random, random.below(lagMs), 0, 0.3);
}

/** What a registry does all day: another price, another owner of a name that is free, no answer for a while. */
export function unsettle({ listings, unsettled }: Registry, random: Random): string {
  const name = random.pick([...listings.keys()]);
  const status = random.weighted([
    { status: "available" as const, weight: 6 },
    { status: "unavailable" as const, weight: 1 },
    { status: "premium" as const, weight: 1 },
    { status: "unknown" as const, weight: 1 },
  ]).status;
  const listing = { status, price: drawPrice(random) };
  listings.set(name, listing);
  unsettled.add(name);
  return `registry: ${name} is ${status} at ${listing.price}`;
}
