import { walletOf } from "../../shared/billing/wallet.ts";
import { holderKey, nameKey } from "../../shared/domains/domain.ts";
import { purchaseDomains } from "../../shared/domains/purchase.ts";
import { availableOf, Balance, emptyBalance } from "../../shared/ledger/balance.ts";
import { balanceKey } from "../../shared/ledger/ledger.ts";
import { contextOf, newId, providerOf } from "./billing-scene.ts";
import { batchOf } from "./purchases-facts.ts";
import { registrarOf } from "./purchases-registrar.ts";
import { contactOf, type Order, type PurchaseAnswer, type PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

/** The names that no account has. */
function freeNames({ registry, facts }: PurchaseScene): string[] {
  const rows = [...facts.rows.values()].filter(({ purchase }) => purchase?.stage !== "voided");
  return [...registry.listings.keys()].filter((name) => !rows.some((row) => row.name === name));
}

/** One to six names, some of them twice in the list, with or without a limit to what they may cost. */
export function drawOrder(scene: PurchaseScene, random: Random, accountId: string): Order {
  const free = freeNames(scene);
  const pool = free.length > 0 && random.chance(0.8) ? free : [...scene.registry.listings.keys()];
  const names = Array.from({ length: random.pick([1, 1, 2, 3, 6]) }, () => random.pick(pool));
  const most = random.chance(0.2) ? random.between(500, 6_000) : undefined;
  return { accountId, names, most, tag: newId(scene, "tag") };
}

/** Mostly when there is something to be had. */
export async function buy(scene: PurchaseScene, world: World, random: Random, accountId: string): Promise<void> {
  if (freeNames(scene).length === 0 && random.chance(0.8)) return;
  await buyTruly(scene, world, random, drawOrder(scene, random, accountId));
}

/** Buys names, at whatever price. */
export const buyThese = (
  scene: PurchaseScene,
  world: World,
  random: Random,
  { accountId, names }: Pick<Order, "accountId" | "names">,
): Promise<void> => buyTruly(scene, world, random, { accountId, names, most: undefined, tag: newId(scene, "tag") });

/** Sends a purchase once more, as who got no answer does, or somebody else who wants the same. */
export async function buyAgain(scene: PurchaseScene, world: World, random: Random, accountId: string): Promise<void> {
  if (scene.orders.length === 0) return;
  const { names, most } = random.pick(scene.orders.slice(-3));
  await buyTruly(scene, world, random, { accountId, names, most, tag: newId(scene, "tag") });
}

/** Buys what is ordered. */
export async function send(scene: PurchaseScene, world: World, random: Random, order: Order): Promise<PurchaseAnswer> {
  const { accountId, names, most, tag } = order;
  world.note(`buys ${names.join(", ")} as ${tag} for ${accountId.charAt(0)}`);
  scene.orders.push(order);
  const [workspace_id = ""] = scene.workspaces.get(accountId) ?? [];
  const purchase = { workspace_id, domains: [...names], contact_info: contactOf(tag) };
  const answer = await purchaseDomains(
    accountId,
    most === undefined ? purchase : { ...purchase, max_total: (most / 100).toFixed(2) },
    contextOf(scene, world, accountId),
    {
      registrar: registrarOf(scene, world, random),
      checkouts: () => ({ payments: providerOf(scene, world, []), publicUrl: "http://here" }),
    },
  );
  scene.answers.push({ order, answer });
  const told = answer.results.map(({ domain_name, status, error_code }) => `${domain_name} ${error_code ?? status}`);
  world.note(`learns: ${told.join(", ")}`);
  return answer;
}

async function buyTruly(scene: PurchaseScene, world: World, random: Random, order: Order): Promise<void> {
  const { seen, unwatch } = witness(world, order);
  try {
    checkAnswer(scene, order, await send(scene, world, random, order), seen);
  } finally {
    unwatch();
  }
}

type Seen = { taken: Set<string>; own: Set<string>; leastAvailable: number };

/** What was so at some moment of a purchase, which makes a refusal right. */
function witness(world: World, { accountId, names }: Order) {
  const seen: Seen = { taken: new Set(), own: new Set(), leastAvailable: Infinity };
  const unwatch = world.watch(() => {
    for (const name of names) {
      const holder = world.peek(holderKey(name));
      if (holder && holder["account_id"] !== accountId) seen.taken.add(name);
      if (world.peek(nameKey(accountId, name))) seen.own.add(name);
    }
    const balance = world.peek(balanceKey(walletOf(accountId), "wallet"));
    const available = availableOf(balance ? Balance.parse(balance) : emptyBalance);
    seen.leastAvailable = Math.min(seen.leastAvailable, available);
  });
  return { seen, unwatch };
}

const dearest = 2_000;

/** An answer is true: what is said to be bought is there, and what is refused was so at some moment. */
function checkAnswer(
  { facts }: PurchaseScene,
  { accountId, names, tag }: Order,
  { results, payment_url }: PurchaseAnswer,
  seen: Seen,
): void {
  mustHold(results.map(({ domain_name }) => domain_name).join() === names.join(), () => `${tag} has other results`);
  for (const { domain_name: name, status, id, error_code } of results) {
    if (status === "pending_registration") {
      const life = facts.lives.get(id ?? "");
      mustHold(
        life?.name === name && life.account_id === accountId,
        () => `${name} is said to be registered for ${tag}`,
      );
    }
    if (error_code === "domain_taken") mustHold(seen.taken.has(name), () => `${name} was said to be taken for ${tag}`);
    if (error_code === "domain_exists") mustHold(seen.own.has(name), () => `${name} was said to be there for ${tag}`);
    if (error_code === "insufficient_funds") {
      mustHold(seen.leastAvailable < dearest, () => `${tag} was refused, and had ${seen.leastAvailable} at the least`);
    }
  }
  const waiting = results.filter(({ status }) => status === "payment_required");
  mustHold(waiting.length > 0 === (payment_url !== null), () => `${tag} is to be paid at ${payment_url}`);
  if (waiting.length === 0) return;
  const batch = batchOf(facts, tag);
  const isKept = waiting.every(({ domain_name }) => batch?.waiting.some(({ name }) => name === domain_name));
  mustHold(batch !== undefined && (isKept || batch.version > 1), () => `${tag} waits for a payment, and is not kept`);
}
