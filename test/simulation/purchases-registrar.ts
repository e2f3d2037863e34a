import { Problem } from "../../shared/core/errors.ts";
import { isRenewing } from "../../shared/domains/domain.ts";
import { holdIdOf } from "../../shared/domains/purchase/buy.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import {
  Refused,
  type Contact,
  type OperationKind,
  type Registrar,
  type RegistrarOperation,
  type Renewing,
} from "../../shared/providers/registrar/registrar.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { registrationUntil, silence } from "../support/registrations.ts";
import { newId, nowOf } from "./billing-scene.ts";
import { batchOf, tagOf } from "./purchases-facts.ts";
import {
  begin,
  beginRenewal,
  endOf,
  giveBack,
  isOurs,
  isRunning,
  lifetimeMs,
  offerOf,
  operationHolding,
  stateOf,
  type Mood,
} from "./purchases-registry.ts";
import type { PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

type Place = { scene: PurchaseScene; world: World; random: Random };

/**
 * The registrar, as one process sees it. Every answer can come late, or never. The request can have its effect all the
 * same. A call that arrives after the longest lifetime of its process has no effect.
 */
export function registrarOf(scene: PurchaseScene, world: World, random: Random): Registrar {
  const place = { scene, world, random };
  const { registry } = scene;
  const now = nowOf(scene, world);
  /** The time of a question. Notes it if it is the latest one. */
  const nowMs = (): number => (scene.seenMs = Math.max(scene.seenMs, now().getTime()));
  const startedMs = nowMs();
  const isLate = (): boolean => scene.mistake !== "calls-after-death" && nowMs() - startedMs > lifetimeMs;
  /** Takes many steps sometimes. Throws 503 sometimes, as a call without an answer does. */
  const travel = async (what: string, { silent, slow }: Mood): Promise<void> => {
    await world.pause(`registrar: ${what}`, random.chance(slow) ? random.between(5, 100) : 0);
    if (random.chance(silent)) throw silence();
  };
  const asking = async <T>(what: string, look: () => T, often = 0.1): Promise<T> => {
    const { silent, slow } = registry.mood;
    const mood = { silent: silent * often, slow: slow * often };
    // A call gets lost less often than its answer, because the caller only sends a lost call again.
    await travel(what, { ...mood, silent: mood.silent / 4 });
    const answer = look();
    await travel(`answer to ${what}`, mood);
    return answer;
  };
  const operationsOf = (kind: OperationKind) => {
    if (kind === "register") return registry.operations;
    return kind === "renew" ? registry.renewals : [];
  };
  const found = (name: string, kind: OperationKind) =>
    operationsOf(kind).filter((one) => one.name === name && one.foundMs <= nowMs());
  const ours = (name: string) => registry.operations.find((one) => one.name === name && isOurs(one, nowMs()));
  /** Sends a request to the registrar. The request can be refused. It can also be done without an answer. */
  const request = async (what: string, act: () => Answer): Promise<RegistrarOperation> => {
    try {
      const answer = await asking(what, () => (isLate() ? "silence" : act()), 1);
      if (answer === "silence") throw silence();
      if ("refused" in answer) throw new Refused(answer.refused);
      return answer;
    } catch (error) {
      if (scene.mistake === "lost-is-refused" && error instanceof Problem) throw new Refused(error.message);
      throw error;
    }
  };
  return {
    tlds: async () => ["com"],
    offer: (name) => asking(`offer ${name}`, () => offerOf(registry, name, nowMs())),
    fees: (name) => asking(`fees of ${name}`, () => ({ renewal: registry.listings.get(name)?.price ?? 0 })),
    register: ({ name, contact }) => request(`register ${name}`, () => register(place, name, contact, nowMs())),
    renew: (input) => request(`renew ${input.name}`, () => renew(place, input, nowMs())),
    transferOffer: unreached,
    transfer: unreached,
    operation: (id) =>
      asking(`operation ${id}`, () => {
        const operation = [...registry.operations, ...registry.renewals].find((one) => one.id === id);
        mustHold(operation !== undefined, () => `asked for the operation ${id}, which there never was`);
        return stateOf(operation, nowMs());
      }),
    findOperation: (name, since, kind) =>
      asking(`search ${name}`, () => {
        const latest = found(name, kind).findLast(({ begunMs }) => begunMs >= since.getTime());
        return latest && stateOf(latest, nowMs());
      }),
    registration: (name) =>
      asking(`registration ${name}`, () => {
        const operation = ours(name);
        if (!operation || nowMs() < operation.shownMs) return undefined;
        const end = endOf(registry, operation, ({ shownMs }) => shownMs <= nowMs());
        const phase = end.getTime() <= nowMs() ? "grace" : "registered";
        return { ...registrationUntil(end.toISOString()), ...endless, phase, nameservers: operation.nameservers };
      }),
    setNameservers: (name, nameservers) =>
      asking(`delegate ${name}`, () => {
        const operation = ours(name);
        if (operation) operation.nameservers = nameservers;
      }),
    contact: async () => undefined,
    setContact: async () => ({ id: "none", state: "succeeded" }),
    authCode: async () => "none",
    setLock: () => asking("lock", () => undefined),
    setPrivacy: () => asking("privacy", () => undefined),
    stopAutoRenew: () => asking("stop", () => undefined),
    release: async (name) => {
      const isHeard = await asking(`release ${name}`, () => !isLate() && release(place, name, nowMs()), 1);
      if (!isHeard) throw silence();
    },
  };
}

/** No grace period ends here, because this module does not simulate the loss of names. */
const endless = { graceEndsAt: "2099-01-01T00:00:00.000Z", redemptionEndsAt: "2099-02-01T00:00:00.000Z" };

async function unreached(): Promise<never> {
  throw new Error("Nobody transfers a name here.");
}

type Answer = RegistrarOperation | { refused: string } | "silence";

function register({ scene, world, random }: Place, name: string, contact: Contact, nowMs: number): Answer {
  const tag = tagOf(contact);
  const { registry } = scene;
  const other = operationHolding(registry, name, nowMs);
  if (other && isRunning(other, nowMs) && random.chance(0.5)) return stateOf(other, nowMs);
  if (other) return random.chance(0.7) ? { refused: "The name is registered already." } : "silence";
  if (random.chance(registry.mood.refusing)) return { refused: "The registry refuses." };
  if (registry.listings.get(name)?.status !== "available") return { refused: "Somebody else has the name." };
  requireHeld(scene, world, { tag, name });
  const operation = begin(registry, random, { id: newId(scene, "operation"), name, tag }, nowMs);
  if (scene.mistake === "seen-too-late") {
    operation.foundMs += 3_600_000;
    operation.shownMs += 3_600_000;
  }
  world.note(
    `registrar: ${operation.id} of ${name} for ${tag}, ${operation.outcome} in ${operation.settlesMs - nowMs} ms`,
  );
  return stateOf(operation, nowMs);
}

/** Renews a name. The registration must end in the year that the caller names. */
function renew({ scene, world, random }: Place, { name, years, expiresAt }: Renewing, nowMs: number): Answer {
  const { registry } = scene;
  const operation = registry.operations.find((one) => one.name === name && isOurs(one, nowMs));
  if (!operation) return { refused: "The name is not registered here." };
  const running = registry.renewals.find((one) => one.of === operation.id && isRunning(one, nowMs));
  if (running) return random.chance(0.5) ? stateOf(running, nowMs) : "silence";
  const end = endOf(registry, operation, () => true);
  const isKnown = end.getUTCFullYear() === new Date(expiresAt).getUTCFullYear();
  if (!isKnown && scene.mistake !== "renewed-blindly") return { refused: "The registration ends in another year." };
  if (random.chance(registry.mood.refusing)) return { refused: "The registry refuses." };
  const holdId = requirePaid(scene, world, name);
  const about = { id: newId(scene, "renewal"), name, of: operation.id, holdId, years };
  const renewal = beginRenewal(registry, random, about, nowMs);
  if (scene.mistake === "renewed-blindly") {
    renewal.foundMs += 3_600_000;
    renewal.shownMs += 3_600_000;
  }
  world.note(`registrar: ${renewal.id} of ${name}, ${renewal.outcome} in ${renewal.settlesMs - nowMs} ms`);
  return stateOf(renewal, nowMs);
}

/**
 * Checks that the price of a renewal is held, and that no renewal with this hold has succeeded yet. Returns the id of
 * the hold.
 */
function requirePaid({ facts, registry }: PurchaseScene, { peek }: World, name: string): string {
  const row = [...facts.rows.values()].find((one) => one.name === name && isRenewing(one));
  mustHold(row?.renewal !== undefined, () => `${name} is renewed, and nobody asked for it`);
  const { hold_id } = row.renewal;
  const hold = peek(movementKey(walletOf(row.account_id), hold_id));
  mustHold(hold?.["status"] === "pending", () => `${name} is renewed for a hold that is ${String(hold?.["status"])}`);
  const before = registry.renewals.find(({ holdId, outcome }) => holdId === hold_id && outcome === "succeeded");
  mustHold(before === undefined, () => `${name} is renewed twice for ${hold_id}`);
  return hold_id;
}

/** Checks that the price of a registration is held. */
function requireHeld({ facts }: PurchaseScene, { peek }: World, { tag, name }: { tag: string; name: string }): void {
  const batch = batchOf(facts, tag);
  mustHold(batch !== undefined, () => `${name} is registered for ${tag}, which is no purchase`);
  const hold = peek(movementKey(walletOf(batch.account_id), holdIdOf(batch.id, name)));
  mustHold(
    hold?.["status"] === "pending",
    () => `${name} is registered for ${tag}, whose hold is ${String(hold?.["status"])}`,
  );
}

/** Gives a name back. Checks that the domain that bought the name is `releasing`. */
function release({ scene, random, world }: Place, name: string, nowMs: number): true {
  const operation = scene.registry.operations.find((one) => one.name === name && isOurs(one, nowMs));
  if (!operation || operation.goneMs < Infinity) return true;
  const batch = batchOf(scene.facts, operation.tag);
  const rows = [...scene.facts.rows.values()];
  const isRight = rows.some(
    (row) => row.name === name && row.status === "releasing" && row.purchase?.batch_id === batch?.id,
  );
  mustHold(isRight, () => `${name} of ${operation.tag} is given back, and its owner did not say so`);
  giveBack(operation, random, nowMs);
  world.note(`registrar: ${operation.id} of ${name} given back`);
  return true;
}
