import { yearsAfter } from "../../shared/core/time.ts";
import type { Offer, RegistrarOperation } from "../../shared/providers/registrar/registrar.ts";
import type { Random } from "./random.ts";

/** A registration at the registrar. Instants are milliseconds since 1970. `tag` is the tag of its purchase. */
export type Registered = {
  id: string;
  name: string;
  tag: string;
  begunMs: number;
  /** The instant from which a search finds the operation. */
  foundMs: number;
  settlesMs: number;
  outcome: "succeeded" | "failed";
  /** The instant from which the registrar shows the name among our names. */
  shownMs: number;
  /** The instant from which the name is not ours any more, after it was given back. */
  goneMs: number;
  /** How long the registration lasts without a renewal, in milliseconds. */
  termMs: number;
  nameservers: readonly string[];
};

/** A renewal at the registrar: its registration, and the hold that pays for it. */
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
  /** The names whose status and price were drawn again (`unsettle`). */
  unsettled: Set<string>;
  /** How far the registrar's clock is behind ours, in milliseconds. */
  behindMs: number;
  mood: Mood & { refusing: number };
};

/** How often the registrar is silent and slow, from 0 (never) to 1. */
export type Mood = { silent: number; slow: number };

export const calm: Registry["mood"] = { silent: 0, refusing: 0, slow: 0 };

const secondMs = 1_000;
const minuteMs = 60 * secondMs;

/**
 * The time after the start of a process in which its calls may still arrive, in milliseconds. After this time the
 * platform has surely ended the process.
 */
export const lifetimeMs = minuteMs;
/** The longest time from the start of an operation until a search finds it, in milliseconds. */
const foundWithinMs = 9 * minuteMs;
/** The longest time from the end of an operation until the registrar shows the result, in milliseconds. */
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

/** Draws `rare` with the probability `chance`, and otherwise `common`. */
const rareOr = <T>(random: Random, rare: T, common: T, chance: number): T => (random.chance(chance) ? rare : common);

/** Draws when and how an operation ends, and when the registrar shows the result. */
export function drawCourse(registry: Pick<Registry, "behindMs">, random: Random, nowMs: number) {
  const longest = random.pick([0, 0, 0, 10 * secondMs, 5 * minuteMs, 6 * 60 * minuteMs]);
  const settlesMs = nowMs + random.between(0, longest);
  return {
    begunMs: nowMs - registry.behindMs,
    foundMs: nowMs + rareOr(random, random.below(foundWithinMs), 0, 0.5),
    settlesMs,
    outcome: rareOr(random, "failed" as const, "succeeded" as const, 0.25),
    shownMs: settlesMs + rareOr(random, random.below(lagMs), 0, 0.3),
  };
}

/** Begins to register a name, and draws the course of the operation. */
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

/** Begins to renew a name, and draws the course of the operation. */
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

/** The end of a registration, with the renewals that `counts` accepts. */
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

/** Gives a name back. Sometimes the name stays ours for a while. */
export function giveBack(operation: Registered, random: Random, nowMs: number): void {
  operation.goneMs = nowMs + rareOr(random, random.below(lagMs), 0, 0.3);
}

/** Draws a new status and a new price for a random name. Returns a line for the trace. */
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
