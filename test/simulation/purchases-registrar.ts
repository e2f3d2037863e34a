import { Problem } from "../../shared/core/errors.ts";
import { holdIdOf } from "../../shared/domains/purchase/buy.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import {
  Refused,
  type Contact,
  type Registrar,
  type RegistrarOperation,
} from "../../shared/providers/registrar/registrar.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { newId, nowOf } from "./billing-scene.ts";
import { batchOf } from "./purchases-facts.ts";
import {
  begin,
  giveBack,
  isOurs,
  isRunning,
  lifetimeMs,
  offerOf,
  standing,
  stateOf,
  type Mood,
} from "./purchases-registry.ts";
import type { PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

type Place = { scene: PurchaseScene; world: World; random: Random };

const unavailable = () => new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 2 });

/**
 * The registrar as one process has it. Every answer may come late, or not at all, whether or not what was asked for
 * happened; what a process asks for whose time is over never arrives.
 */
export function registrarOf(scene: PurchaseScene, world: World, random: Random): Registrar {
  const place = { scene, world, random };
  const { registry } = scene;
  const now = nowOf(scene, world);
  const nowMs = (): number => (scene.seenMs = Math.max(scene.seenMs, now().getTime()));
  const startedMs = nowMs();
  const isLate = (): boolean => scene.mistake !== "calls-after-death" && nowMs() - startedMs > lifetimeMs;
  /** Now and then on its way for as long as others do many things, or for ever. */
  const travel = async (what: string, { silent, slow }: Mood): Promise<void> => {
    await world.pause(`registrar: ${what}`, random.chance(slow) ? random.between(5, 100) : 0);
    if (random.chance(silent)) throw unavailable();
  };
  const asking = async <T>(what: string, look: () => T, often = 0.1): Promise<T> => {
    const { silent, slow } = registry.mood;
    const mood = { silent: silent * often, slow: slow * often };
    // What is lost before it arrives makes no trouble: it is asked again.
    await travel(what, { ...mood, silent: mood.silent / 4 });
    const answer = look();
    await travel(`answer to ${what}`, mood);
    return answer;
  };
  const found = (name: string) => registry.operations.filter((one) => one.name === name && one.foundMs <= nowMs());
  const ours = (name: string) => registry.operations.find((one) => one.name === name && isOurs(one, nowMs()));
  return {
    tlds: async () => ["com"],
    offer: (name) => asking(`offer ${name}`, () => offerOf(registry, name, nowMs())),
    register: async ({ name, contact }) => {
      try {
        const answer = await asking(
          `register ${name}`,
          () => {
            if (isLate()) return "silence";
            return register(place, name, contact, nowMs());
          },
          1,
        );
        if (answer === "silence") throw unavailable();
        if ("refused" in answer) throw new Refused(answer.refused);
        return answer;
      } catch (error) {
        if (scene.mistake === "lost-is-refused" && error instanceof Problem) throw new Refused(error.message);
        throw error;
      }
    },
    operation: (id) =>
      asking(`operation ${id}`, () => {
        const operation = registry.operations.find((one) => one.id === id);
        mustHold(operation !== undefined, () => `asked for the operation ${id}, which there never was`);
        return stateOf(operation, nowMs());
      }),
    findOperation: (name, since) =>
      asking(`search ${name}`, () => {
        const latest = found(name).findLast(({ begunMs }) => begunMs >= since.getTime());
        return latest && stateOf(latest, nowMs());
      }),
    registration: (name) =>
      asking(`registration ${name}`, () => {
        const operation = ours(name);
        if (!operation || nowMs() < operation.shownMs) return undefined;
        const { settlesMs, nameservers } = operation;
        const expiresAt = new Date(settlesMs + 365 * 86_400_000).toISOString();
        return { expiresAt, locked: true, autoRenew: false, nameservers };
      }),
    setNameservers: (name, nameservers) =>
      asking(`delegate ${name}`, () => {
        const operation = ours(name);
        if (operation) operation.nameservers = nameservers;
      }),
    setAutoRenew: () => asking("renew", () => undefined),
    release: async (name) => {
      const isHeard = await asking(`release ${name}`, () => !isLate() && release(place, name, nowMs()), 1);
      if (!isHeard) throw unavailable();
    },
  };
}

function register(
  { scene, world, random }: Place,
  name: string,
  { organization: tag }: Contact,
  nowMs: number,
): RegistrarOperation | { refused: string } | "silence" {
  const { registry } = scene;
  const other = standing(registry, name, nowMs);
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

/** Nothing is registered but what is paid for: as long as it is not registered, its price is held. */
function requireHeld({ facts }: PurchaseScene, { peek }: World, { tag, name }: { tag: string; name: string }): void {
  const batch = batchOf(facts, tag);
  mustHold(batch !== undefined, () => `${name} is registered for ${tag}, which is no purchase`);
  const hold = peek(movementKey(walletOf(batch.account_id), holdIdOf(batch.id, name)));
  mustHold(
    hold?.["status"] === "pending",
    () => `${name} is registered for ${tag}, whose hold is ${String(hold?.["status"])}`,
  );
}

/** Only who has a name gives it back. */
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
