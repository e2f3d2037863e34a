import { route } from "../../functions/domains/purchase.ts";
import { Problem } from "../../shared/core/errors.ts";
import { purchaseDomains } from "../../shared/domains/purchase/purchase.ts";
import { PurchaseAnswer, type PurchaseRequest } from "../../shared/domains/purchase/requests.ts";
import { invoke } from "../../shared/http/invoke.ts";
import { invocationOf, newId, nowOf, providerOf } from "./billing-scene.ts";
import { checkAnswer, checkReplay, isKept, witness } from "./purchases-answers.ts";
import { batchOf } from "./purchases-facts.ts";
import { registrarOf } from "./purchases-registrar.ts";
import { contactOf, type Order, type PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

type Sent = { answer: PurchaseAnswer; replayed: boolean };

/** The names that no account has bought or is buying. */
export function freeNames({ registry, facts }: PurchaseScene): string[] {
  const rows = [...facts.rows.values()].filter(({ purchase }) => purchase && purchase.stage !== "voided");
  return [...registry.listings.keys()].filter((name) => !rows.some((row) => row.name === name));
}

/** The names that other accounts have connected, and not bought. */
const namesOfOthers = ({ facts }: PurchaseScene, accountId: string): string[] =>
  [...facts.rows.values()]
    .filter(({ purchase, account_id, is_open }) => !purchase && is_open && account_id !== accountId)
    .map(({ name }) => name);

/** Draws an order of one to six names. A name can be in the list twice. Some orders have a limit to their total. */
export function drawOrder(scene: PurchaseScene, random: Random, accountId: string): Order {
  const [free, connected] = [freeNames(scene), namesOfOthers(scene, accountId)];
  const some = connected.length > 0 && random.chance(0.4) ? connected : free;
  const pool = some.length > 0 && random.chance(0.8) ? some : [...scene.registry.listings.keys()];
  const names = Array.from({ length: random.pick([1, 1, 2, 3, 6]) }, () => random.pick(pool));
  const most = random.chance(0.2) ? random.between(500, 6_000) : undefined;
  return { accountId, names, most, ...newOrder(scene, random.chance(0.5)) };
}

/** The members that distinguish an order from other orders. */
export function newOrder(scene: PurchaseScene, isKeyed = false): Pick<Order, "tag" | "key" | "keyId" | "sentMs"> {
  const tag = newId(scene, "tag");
  return { tag, key: isKeyed ? `key-${tag}` : undefined, keyId: undefined, sentMs: Infinity };
}

/** Buys names. Mostly does nothing if no name is free. */
export async function buy(scene: PurchaseScene, world: World, random: Random, accountId: string): Promise<void> {
  if (freeNames(scene).length === 0 && random.chance(0.8)) return;
  await buyTruly(scene, world, random, drawOrder(scene, random, accountId));
}

/** Buys names at any price. */
export const buyThese = (
  scene: PurchaseScene,
  world: World,
  random: Random,
  { accountId, names }: Pick<Order, "accountId" | "names">,
): Promise<void> => buyTruly(scene, world, random, { accountId, names, most: undefined, ...newOrder(scene) });

/**
 * Sends the names of an earlier order in a new order without a key. A buyer who got no answer and sent no key does
 * this. Another buyer of the same names does this too.
 */
export async function buyAgain(scene: PurchaseScene, world: World, random: Random, accountId: string): Promise<void> {
  if (scene.orders.length === 0) return;
  const { names, most } = random.pick(scene.orders.slice(-3));
  await buyTruly(scene, world, random, { accountId, names, most, ...newOrder(scene) });
}

/** Sends a purchase again with its key, as a buyer without an answer does. */
export async function sendAgain(scene: PurchaseScene, world: World, random: Random): Promise<void> {
  const open = scene.orders.filter((order) => order.key !== undefined && isKept(scene, world, order));
  if (open.length === 0) return;
  const unanswered = open.filter(({ tag }) => !scene.answers.some(({ order }) => order.tag === tag));
  const some = unanswered.length > 0 && random.chance(0.8) ? unanswered : open;
  await buyTruly(scene, world, random, random.pick(some.slice(-4)));
}

/** Sends an order through `invoke`, as the route does. */
export async function send(scene: PurchaseScene, world: World, random: Random, order: Order): Promise<Sent> {
  const { accountId, names, most, tag, key } = order;
  world.note(`buys ${names.join(", ")} as ${tag} for ${accountId.charAt(0)}${key === undefined ? "" : ", with a key"}`);
  if (!scene.orders.includes(order)) scene.orders.push(order);
  order.sentMs = Math.min(order.sentMs, nowOf(scene, world)().getTime());
  const [workspace_id = ""] = scene.workspaces.get(accountId) ?? [];
  const purchase = { workspace_id, domains: [...names], contact_info: contactOf(tag) };
  const outside = {
    registrar: registrarOf(scene, world, random),
    checkouts: () => ({ payments: providerOf(scene, world, []), publicUrl: "http://here" }),
  };
  const { output, replayed } = await invoke(
    {
      ...route,
      run: async ({ body }, { keyId, ...context }) => {
        requireSame(scene, world, order, keyId);
        const told = scene.mistake === "key-forgotten" ? context : { ...context, keyId };
        return purchaseDomains(accountId, body as PurchaseRequest, told, outside);
      },
    },
    {
      params: { account_id: accountId },
      query: {},
      body: most === undefined ? purchase : { ...purchase, max_total: (most / 100).toFixed(2) },
      headers: { "idempotency-key": key },
    },
    invocationOf(scene, world, accountId),
  );
  const answer = PurchaseAnswer.parse(output);
  const told = answer.results.map(({ domain_name, status, error_code }) => `${domain_name} ${error_code ?? status}`);
  world.note(`learns${replayed ? " again" : ""}: ${told.join(", ")}`);
  return { answer, replayed };
}

/**
 * Checks that the product takes a repeat with the same key for the same purchase, for a day. After a day, the key can
 * stand for another purchase. Then the request ends here, because in the product no process uses a key for so long, not
 * even a process that was paused.
 */
function requireSame(scene: PurchaseScene, world: World, order: Order, keyId: string | undefined): void {
  const isOther = order.keyId !== undefined && order.keyId !== keyId;
  order.keyId = keyId;
  if (!isOther) return;
  const isOver = !isKept(scene, world, order);
  const isNew = batchOf(scene.facts, order.tag) === undefined;
  mustHold(isOver || isNew, () => `${order.tag} is sent again, and is taken for another one`);
  if (isOver) throw new Problem("not_found", "The key is over.");
}

/** Buys the names of an order, and checks the answer. */
export async function buyTruly(scene: PurchaseScene, world: World, random: Random, order: Order): Promise<void> {
  const { seen, unwatch } = witness(world, order);
  try {
    const { answer, replayed } = await send(scene, world, random, order);
    const known = scene.answers.find((one) => one.order === order);
    if (replayed) checkReplay(order, answer, known?.answer);
    else checkAnswer(scene, order, answer, seen);
    scene.answers.push({ order, answer });
  } finally {
    unwatch();
  }
}
