import { Problem } from "../../shared/core/errors.ts";
import { isRenewing, isTransferring, type StoredDomain } from "../../shared/domains/domain.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import {
  Refused,
  type OperationKind,
  type Registrar,
  type RegistrarOperation,
  type Renewing,
  type TransferOffer,
} from "../../shared/providers/registrar/registrar.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { silence } from "../support/registrations.ts";
import { newId, nowOf } from "./billing-scene.ts";
import { registrar as unreached } from "./ips-actors.ts";
import {
  authCodeOf,
  beginLife,
  beginTenure,
  endOfTenure,
  isNew,
  phaseAt,
  registrationOfTenure,
  runningOf,
  tenureOf,
} from "./lives-registry.ts";
import type { LifeScene } from "./lives-scene.ts";
import { lifetimeMs, stateOf, type Mood } from "./purchases-registry.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

type Place = { scene: LifeScene; world: World; random: Random };
type Answer = RegistrarOperation | { refused: string } | "silence";

/**
 * The registrar, as one process sees it. Every answer can come late, or never. The request can have its effect all the
 * same.
 */
export function lifeRegistrarOf(scene: LifeScene, world: World, random: Random): Registrar {
  const place = { scene, world, random };
  const { registry } = scene;
  const now = nowOf(scene, world);
  /** The time of a question. Notes it if it is the latest one. */
  const nowMs = (): number => (scene.seenMs = Math.max(scene.seenMs, now().getTime()));
  const startedMs = nowMs();
  const travel = async (what: string, { silent, slow }: Mood): Promise<void> => {
    await world.pause(`registrar: ${what}`, random.chance(slow) ? random.between(5, 100) : 0);
    if (random.chance(silent)) throw silence();
  };
  const asking = async <T>(what: string, look: () => T, often = 0.1): Promise<T> => {
    const { silent, slow } = registry.mood;
    // A call gets lost less often than its answer, because the caller only sends a lost call again.
    await travel(what, { silent: (silent * often) / 4, slow: slow * often });
    const answer = look();
    await travel(`answer to ${what}`, { silent: silent * often, slow: slow * often });
    return answer;
  };
  const request = async (what: string, act: () => Answer): Promise<RegistrarOperation> => {
    try {
      // A call that arrives after the longest lifetime of its process has no effect.
      const answer = await asking(what, () => (nowMs() - startedMs > lifetimeMs ? "silence" : act()), 1);
      if (answer === "silence") throw silence();
      if ("refused" in answer) throw new Refused(answer.refused);
      return answer;
    } catch (error) {
      if (scene.mistake === "lost-transfer-is-refused" && error instanceof Problem) throw new Refused(error.message);
      throw error;
    }
  };
  return {
    ...unreached,
    fees: (name) => asking(`fees of ${name}`, () => ({ renewal: registry.prices.get(name) ?? 0, restore: 2_000 })),
    transferOffer: (name, authCode) => asking(`offer ${name}`, () => offer(place, name, authCode, nowMs())),
    transfer: ({ name, authCode }) => request(`transfer ${name}`, () => transfer(place, name, authCode, nowMs())),
    renew: (input) => request(`renew ${input.name}`, () => renew(place, input, nowMs())),
    operation: (id) =>
      asking(`operation ${id}`, () => {
        const operation = registry.operations.find((one) => one.id === id);
        mustHold(operation !== undefined, () => `asked for the operation ${id}, which there never was`);
        return stateOf(operation, nowMs());
      }),
    findOperation: (name, since, kind) => asking(`search ${name}`, () => search(place, { name, since, kind }, nowMs())),
    registration: (name) =>
      asking(`registration ${name}`, () => {
        const tenure = tenureOf(registry, name, nowMs());
        const isHidden = tenure === undefined || random.chance(registry.mood.blind);
        return isHidden ? undefined : registrationOfTenure(registry, tenure, nowMs());
      }),
    setNameservers: (name, nameservers) =>
      asking(`delegate ${name}`, () => {
        const tenure = tenureOf(registry, name, nowMs());
        if (tenure) tenure.nameservers = nameservers;
      }),
    release: async (name) => {
      const isHeard = await asking(
        `release ${name}`,
        () => nowMs() - startedMs <= lifetimeMs && release(place, name, nowMs()),
        1,
      );
      if (!isHeard) throw silence();
    },
  };
}

function search(
  { scene }: Place,
  { name, since, kind }: { name: string; since: Date; kind: OperationKind },
  nowMs: number,
): RegistrarOperation | undefined {
  const { registry, mistake } = scene;
  if (mistake === "hidden-is-departed" && kind === "transfer_out") return { id: "imagined", state: "succeeded" };
  const found = registry.operations.findLast(
    (one) => one.name === name && one.kind === kind && one.foundMs <= nowMs && one.begunMs >= since.getTime(),
  );
  return found && stateOf(found, nowMs);
}

function offer(place: Place, name: string, authCode: string, nowMs: number): TransferOffer {
  const { registry } = place.scene;
  const price = registry.prices.get(name);
  if (price === undefined) return { name, status: "unsupported_tld" };
  if (tenureOf(registry, name, nowMs) || runningOf(registry, name, "transfer", nowMs)) return { name, status: "ours" };
  if (authCode !== authCodeOf(name)) return { name, status: "auth_code_wrong" };
  if (isNew(registry, name, nowMs)) return { name, status: "too_soon" };
  if (place.random.chance(registry.mood.refusing)) return { name, status: "locked" };
  return { name, status: "transferable", price };
}

function transfer(place: Place, name: string, authCode: string, nowMs: number): Answer {
  const { scene, world, random } = place;
  const { registry } = scene;
  const running = runningOf(registry, name, "transfer", nowMs);
  if (running) return random.chance(0.5) ? stateOf(running, nowMs) : "silence";
  if (tenureOf(registry, name, nowMs)) return random.chance(0.7) ? { refused: "The name is ours already." } : "silence";
  if (authCode !== authCodeOf(name)) return { refused: "The auth code is wrong." };
  if (isNew(registry, name, nowMs)) return { refused: "The name is too new." };
  if (random.chance(registry.mood.refusing)) return { refused: "The registry refuses." };
  const rows = [...scene.facts.rows.values()].filter((row) => row.name === name);
  const holdId = requirePaid(place, rows.find(isTransferring), "transfer");
  const about = { id: newId(scene, "transfer"), kind: "transfer" as const, name, holdId, years: 1, tenure: undefined };
  const operation = beginLife(registry, random, about, nowMs);
  if (operation.outcome === "succeeded") beginTenure(registry, random, operation);
  world.note(`registrar: ${operation.id} of ${name}, ${operation.outcome} in ${operation.settlesMs - nowMs} ms`);
  return stateOf(operation, nowMs);
}

/**
 * Checks that the price of a transfer or a renewal is held, and that no operation with this hold has succeeded yet.
 * Returns the id of the hold.
 */
function requirePaid({ scene, world }: Place, row: StoredDomain | undefined, kind: "transfer" | "renew"): string {
  mustHold(row !== undefined, () => `a registrar is asked to ${kind}, and nobody asked for it`);
  const { account_id, name } = row;
  const holdId = (kind === "transfer" ? row.transfer : row.renewal)?.hold_id ?? "";
  const hold = world.peek(movementKey(walletOf(account_id), holdId));
  mustHold(hold?.["status"] === "pending", () => `${name}: ${kind} for a hold that is ${String(hold?.["status"])}`);
  const before = scene.registry.operations.find((one) => one.holdId === holdId && one.outcome === "succeeded");
  mustHold(before === undefined, () => `${name}: ${kind} twice for ${holdId}`);
  return holdId;
}

function renew(place: Place, { name, years, expiresAt, restore }: Renewing, nowMs: number): Answer {
  const { scene, world, random } = place;
  const { registry } = scene;
  const tenure = tenureOf(registry, name, nowMs);
  if (!tenure) return { refused: "The name is not registered here." };
  const running = runningOf(registry, name, "renew", nowMs);
  if (running) return random.chance(0.5) ? stateOf(running, nowMs) : "silence";
  const end = endOfTenure(registry, tenure, () => true);
  if (end.getUTCFullYear() !== new Date(expiresAt).getUTCFullYear()) return { refused: "It ends in another year." };
  if ((phaseAt(end, nowMs) === "redemption") !== restore) return { refused: "It is in another phase." };
  if (random.chance(registry.mood.refusing)) return { refused: "The registry refuses." };
  const rows = [...scene.facts.rows.values()].filter((row) => row.name === name);
  const holdId = requirePaid(place, rows.find(isRenewing), "renew");
  const about = { id: newId(scene, "renewal"), kind: "renew" as const, name, holdId, years, tenure };
  const operation = beginLife(registry, random, about, nowMs);
  world.note(`registrar: ${operation.id} of ${name}, ${operation.outcome} in ${operation.settlesMs - nowMs} ms`);
  return stateOf(operation, nowMs);
}

/** Gives a name back. Checks that the domain that paid for the name is `releasing`. */
function release({ scene, world }: Place, name: string, nowMs: number): true {
  const tenure = tenureOf(scene.registry, name, nowMs);
  if (!tenure) return true;
  const rows = [...scene.facts.rows.values()];
  const isRight = rows.some((row) => row.status === "releasing" && row.transfer?.hold_id === tenure.holdId);
  mustHold(isRight, () => `${name} is given back, and its owner did not say so`);
  tenure.toMs = nowMs;
  world.note(`registrar: ${name} given back`);
  return true;
}
