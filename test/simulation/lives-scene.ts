import type { DnsMode } from "../../shared/domains/domain.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { nowOf, silent, type Scene } from "./billing-scene.ts";
import { lifeRegistrarOf } from "./lives-registrar.ts";
import { newLifeRegistry, type LifeRegistry } from "./lives-registry.ts";
import { newFacts, type Facts } from "./purchases-facts.ts";
import { dns } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { sealing } from "./sealing.ts";
import type { World } from "./world.ts";

/** Mistakes that drop no condition, with the moods in which they show. */
export const lifeMistakes = {
  /** A lost answer counts as a refusal. */
  "lost-transfer-is-refused": { silent: 0.4 },
  /** A name that the registrar does not show for a moment counts as taken over by another registrar. */
  "hidden-is-departed": { blind: 0.5 },
} as const;
export type LifeMistake = keyof typeof lifeMistakes;

/** A request for transfers, with its idempotency key. */
export type TransferRequest = {
  accountId: string;
  names: readonly string[];
  code: string | undefined;
  key: string;
  dnsMode: DnsMode;
};

/** The state that all actors of a schedule share, beside the accounts and their money. */
export type LifeScene = Scene & {
  workspaces: Map<string, string>;
  registry: LifeRegistry;
  facts: Facts;
  requests: TransferRequest[];
  mistake: LifeMistake | undefined;
  /** The latest instant of a question to the registrar. */
  seenMs: number;
};

export function newLifeScene(random: Random, mistake: LifeMistake | undefined): LifeScene {
  const registry = newLifeRegistry(random);
  if (mistake) Object.assign(registry.mood, lifeMistakes[mistake]);
  return {
    accounts: ["5", "6"].map((name) => `${name}0000000-0000-4000-8000-000000000000`),
    aheadMs: 0,
    checkouts: [],
    events: [],
    holds: [],
    ids: 0,
    workspaces: new Map(),
    registry,
    facts: newFacts(),
    requests: [],
    mistake,
    seenMs: 0,
  };
}

/**
 * The context of one run of the worker. No name is ever found delegated, because this module does not simulate
 * delegations.
 */
export const lifeWorkOf = (scene: LifeScene, world: World, random: Random): DomainWork => ({
  table: world.table,
  now: nowOf(scene, world),
  log: silent,
  dns,
  registrar: lifeRegistrarOf(scene, world, random),
  secrets: sealing,
  resolver: {
    resolve: async () => ({ status: "none" }),
    delegation: async () => (random.chance(0.5) ? { status: "none" } : { status: "unknown", reason: "no answer" }),
  },
});
