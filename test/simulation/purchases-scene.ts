import type { PurchaseAnswer } from "../../shared/domains/purchase/requests.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import type { Contact } from "../../shared/providers/registrar/registrar.ts";
import { contact } from "../support/contact.ts";
import { nowOf, silent, type Scene } from "./billing-scene.ts";
import { newFacts, type Facts } from "./purchases-facts.ts";
import { registrarOf } from "./purchases-registrar.ts";
import { newRegistry, type Registry } from "./purchases-registry.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/**
 * One purchase, as its buyer wants it. The contact has the tag, so the registrar knows for which purchase a name is.
 */
export type Order = {
  accountId: string;
  tag: string;
  names: readonly string[];
  most: number | undefined;
  /** The idempotency key of its requests. Undefined if they have none. */
  key: string | undefined;
  /** The id that the product made from the key at the last request. */
  keyId: string | undefined;
  /** The time of its first request. */
  sentMs: number;
};

/** Mistakes that drop no condition, with the moods in which they show. */
export const mistakes = {
  /** A lost answer counts as a refusal. */
  "lost-is-refused": { silent: 0.4 },
  /** The registrar shows its names later than it promises. */
  "seen-too-late": { silent: 0.4 },
  /** The calls of a process arrive long after its end. */
  "calls-after-death": { slow: 0.5 },
  /** The registrar ignores the year in which the registration ends, and shows a renewal late. */
  "renewed-blindly": { silent: 0.4 },
  /** The product does not see the key of a purchase, and so takes a repeat for another purchase. */
  "key-forgotten": {},
} as const;
export type Mistake = keyof typeof mistakes;

/** The state that all actors of a schedule share, beside the accounts and their money. */
export type PurchaseScene = Scene & {
  workspaces: Map<string, readonly string[]>;
  registry: Registry;
  facts: Facts;
  orders: Order[];
  answers: { order: Order; answer: PurchaseAnswer }[];
  mistake: Mistake | undefined;
  /** The latest instant of a question to the registrar. */
  seenMs: number;
};

export function newScene(random: Random, mistake: Mistake | undefined): PurchaseScene {
  const registry = newRegistry(random);
  if (mistake) Object.assign(registry.mood, mistakes[mistake]);
  const accounts = ["d", "e", "f"].map((name) => `${name}0000000-0000-4000-8000-000000000000`);
  return {
    accounts,
    aheadMs: 0,
    checkouts: [],
    events: [],
    holds: [],
    ids: 0,
    workspaces: new Map(),
    registry,
    facts: newFacts(),
    orders: [],
    answers: [],
    mistake,
    seenMs: 0,
  };
}

export const contactOf = (tag: string): Contact => ({ ...contact, organization: tag });

async function unreached(): Promise<never> {
  throw new Error("Nobody delegates a name here: there is no zone to make, and nothing to seal.");
}

export const dns: DomainWork["dns"] = {
  createZone: unreached,
  changeZone: unreached,
  isInSync: unreached,
  deleteZone: unreached,
};

/**
 * The context of one run of the worker. No name is ever found delegated, because this module does not simulate
 * delegations.
 */
export const workOf = (scene: PurchaseScene, world: World, random: Random): DomainWork => ({
  table: world.table,
  now: nowOf(scene, world),
  log: silent,
  dns,
  registrar: registrarOf(scene, world, random),
  secrets: { seal: unreached, open: unreached },
  resolver: {
    resolve: async () => ({ status: "none" }),
    delegation: async () => (random.chance(0.5) ? { status: "none" } : { status: "unknown", reason: "no answer" }),
  },
});
