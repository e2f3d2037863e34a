import { later, yearsAfter } from "../../shared/core/time.ts";
import {
  redemptionMs,
  renewalGraceMs,
  transferLockMs,
  type OperationKind,
  type Registration,
} from "../../shared/providers/registrar/registrar.ts";
import { registrationUntil } from "../support/registrations.ts";
import { dayMs } from "./billing-scene.ts";
import { calm, drawCourse, isRunning, type Registered, type Registry } from "./purchases-registry.ts";
import type { Random } from "./random.ts";

/**
 * An operation at the registrar. Instants are milliseconds since 1970. `holdId` is the id of the hold that pays for it.
 */
export type LifeOperation = Pick<
  Registered,
  "id" | "name" | "begunMs" | "foundMs" | "settlesMs" | "outcome" | "shownMs"
> & { kind: OperationKind; holdId: string; years: number; tenure: Tenure | undefined };

/** The `holdId` of an operation that an operator began by hand. No hold pays for it. */
export const byHand = "by hand";

/**
 * The time in which the registrar has a name for us. It begins with a transfer to us, and ends when the name is lost,
 * transferred away or given back.
 */
export type Tenure = {
  name: string;
  /** The id of the hold that pays for the transfer. */
  holdId: string;
  fromMs: number;
  /** The instant from which the registrar shows the name among our names. */
  shownMs: number;
  toMs: number;
  /** The end of the registration without renewals. */
  termMs: number;
  nameservers: readonly string[];
};

/** Our registrar, and all other registrars. Each name is always registered at one of them. */
export type LifeRegistry = {
  prices: Map<string, number>;
  tenures: Tenure[];
  operations: LifeOperation[];
  behindMs: number;
  /** `blind` is how often the registrar does not show a name that it has, from 0 (never) to 1. */
  mood: Registry["mood"] & { blind: number };
};

export const calmLife: LifeRegistry["mood"] = { ...calm, blind: 0 };

export const authCodeOf = (name: string): string => `code of ${name}`;

export function newLifeRegistry(random: Random): LifeRegistry {
  const names = ["grove", "heath", "inlet", "joyce"].slice(0, random.pick([1, 2, 4]));
  return {
    prices: new Map(names.map((name) => [`${name}.com`, random.pick([900, 1_200])])),
    tenures: [],
    operations: [],
    behindMs: random.pick([0, random.below(240_000)]),
    mood: {
      silent: random.pick([0, 0.1, 0.4]),
      refusing: random.pick([0, 0.1, 0.3]),
      slow: random.pick([0, 0.1, 0.4]),
      blind: random.pick([0, 0, 0.2]),
    },
  };
}

/** Begins an operation, and draws its course. */
export function beginLife(
  registry: LifeRegistry,
  random: Random,
  about: Pick<LifeOperation, "id" | "kind" | "name" | "holdId" | "years" | "tenure">,
  nowMs: number,
): LifeOperation {
  const operation = { ...about, ...drawCourse(registry, random, nowMs) };
  registry.operations.push(operation);
  return operation;
}

/** The running operation of a kind for a name. */
export const runningOf = (
  { operations }: LifeRegistry,
  name: string,
  kind: OperationKind,
  nowMs: number,
): LifeOperation | undefined =>
  operations.find((one) => one.name === name && one.kind === kind && isRunning(one, nowMs));

/** Adds the tenure of a name. It begins when the transfer ends, and lasts more than a year. */
export function beginTenure({ tenures }: LifeRegistry, random: Random, transfer: LifeOperation): void {
  const { name, holdId, settlesMs, shownMs } = transfer;
  const termMs = settlesMs + random.pick([366, 400, 700]) * dayMs;
  tenures.push({ name, holdId, fromMs: settlesMs, shownMs, toMs: Infinity, termMs, nameservers: ["ns1.old.example"] });
}

/** The end of a registration, with the renewals that `counts` accepts. */
export function endOfTenure(
  { operations }: LifeRegistry,
  tenure: Tenure,
  counts: (renewal: LifeOperation) => boolean,
): Date {
  const years = operations
    .filter((one) => one.kind === "renew" && one.tenure === tenure && one.outcome === "succeeded" && counts(one))
    .reduce((sum, one) => sum + one.years, 0);
  return yearsAfter(new Date(tenure.termMs), years);
}

/** The time at which a tenure ends without another renewal, in milliseconds. Only settled renewals count. */
const lostAt = (registry: LifeRegistry, tenure: Tenure, nowMs: number): number =>
  endOfTenure(registry, tenure, ({ settlesMs }) => settlesMs <= nowMs).getTime() + renewalGraceMs + redemptionMs;

/** The present tenure of a name. Undefined while another registrar has the name. */
export const tenureOf = (registry: LifeRegistry, name: string, nowMs: number): Tenure | undefined =>
  registry.tenures.find((tenure) => {
    const isOver = Math.min(tenure.toMs, lostAt(registry, tenure, nowMs)) <= nowMs;
    return tenure.name === name && tenure.fromMs <= nowMs && !isOver;
  });

/** Whether a name was lost a short time ago. A new registration elsewhere cannot be transferred at once (ICANN). */
export const isNew = (registry: LifeRegistry, name: string, nowMs: number): boolean =>
  registry.tenures.some((tenure) => {
    const lostMs = lostAt(registry, tenure, nowMs);
    return tenure.name === name && tenure.toMs > lostMs && lostMs <= nowMs && nowMs < lostMs + transferLockMs;
  });

/**
 * The next instants, in milliseconds, at which a registration is due for renewal, ends, enters redemption, or is lost.
 */
export const turnsOf = (registry: LifeRegistry, nowMs: number): number[] =>
  registry.tenures
    .filter(({ toMs }) => toMs === Infinity)
    .map((tenure) => endOfTenure(registry, tenure, () => true).getTime())
    .flatMap((end) => [end - renewalGraceMs, end, end + renewalGraceMs, end + renewalGraceMs + redemptionMs])
    .filter((turn) => turn > nowMs);

/** The phase of a registration that ends at `end`. */
export function phaseAt(end: Date, nowMs: number): Registration["phase"] {
  if (nowMs < end.getTime()) return "registered";
  return nowMs < end.getTime() + renewalGraceMs ? "grace" : "redemption";
}

/** The registration, as the registrar shows it. A renewal may show late. */
export function registrationOfTenure(registry: LifeRegistry, tenure: Tenure, nowMs: number): Registration | undefined {
  if (nowMs < tenure.shownMs) return undefined;
  const end = endOfTenure(registry, tenure, ({ shownMs }) => shownMs <= nowMs);
  return {
    ...registrationUntil(end.toISOString()),
    phase: phaseAt(end, nowMs),
    graceEndsAt: later(end, renewalGraceMs),
    redemptionEndsAt: later(end, renewalGraceMs + redemptionMs),
    nameservers: tenure.nameservers,
  };
}
