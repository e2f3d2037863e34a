import { buyerKey, holderKey, domainNameKey } from "../../shared/domains/domain.ts";
import type { PurchaseAnswer } from "../../shared/domains/purchase/requests.ts";
import { availableOf, Balance, emptyBalance } from "../../shared/ledger/balance.ts";
import { balanceKey } from "../../shared/ledger/ledger.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { dayMs, nowOf } from "./billing-scene.ts";
import { batchOf, boughtBy } from "./purchases-facts.ts";
import type { Order, PurchaseScene } from "./purchases-scene.ts";
import { mustHold, type World } from "./world.ts";

/** Whether the product still keeps the key of an order: for a day after its first request. */
export const isKept = (scene: PurchaseScene, world: World, { sentMs }: Order): boolean =>
  nowOf(scene, world)().getTime() - sentMs < dayMs;

/** Checks that a name with the result `failed` was not bought by this purchase, in this try or an earlier one. */
function checkTold(scene: PurchaseScene, order: Order, { results }: PurchaseAnswer): void {
  for (const { domain_name: name, status, error_code } of results) {
    if (status !== "failed" || error_code === "duplicate") continue;
    const bought = boughtBy(scene.facts, order.tag, name);
    mustHold(bought.length === 0, () => `${order.tag} is told ${error_code} of ${name}, which it has bought`);
  }
}

/** Checks that a repeat gets the first answer. */
export function checkReplay({ tag }: Order, answer: PurchaseAnswer, known: PurchaseAnswer | undefined): void {
  if (known) mustHold(JSON.stringify(answer) === JSON.stringify(known), () => `${tag} is told something else`);
}

type Seen = { taken: Set<string>; own: Set<string>; leastAvailable: number };

/** Notes what can make a refusal right during a purchase: taken names, own names, and the least available money. */
export function witness(world: World, { accountId, names }: Order) {
  const seen: Seen = { taken: new Set(), own: new Set(), leastAvailable: Infinity };
  const unwatch = world.watch(() => {
    for (const name of names) {
      const claims = [world.peek(holderKey(name)), world.peek(buyerKey(name))];
      if (claims.some((claim) => claim && claim["account_id"] !== accountId)) seen.taken.add(name);
      if (world.peek(domainNameKey(accountId, name))) seen.own.add(name);
    }
    const balance = world.peek(balanceKey(walletOf(accountId), "wallet"));
    const available = availableOf(balance ? Balance.parse(balance) : emptyBalance);
    seen.leastAvailable = Math.min(seen.leastAvailable, available);
  });
  return { seen, unwatch };
}

/** No name costs more, in minor units. */
const dearest = 2_000;

/**
 * Checks an answer. A name that is answered as bought must be there. The reason of a refusal must have been true at
 * some moment.
 */
export function checkAnswer(scene: PurchaseScene, order: Order, answer: PurchaseAnswer, seen: Seen): void {
  const { facts } = scene;
  const { accountId, names, tag } = order;
  const { results, payment_url } = answer;
  checkTold(scene, order, answer);
  mustHold(results.map(({ domain_name }) => domain_name).join() === names.join(), () => `${tag} has other results`);
  for (const { domain_name: name, status, id, error_code } of results) {
    if (status === "pending_registration") {
      const life = boughtBy(facts, tag, name).find((one) => id === null || one.id === id);
      mustHold(life?.account_id === accountId, () => `${name} is said to be registered for ${tag}, as ${id}`);
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
  const isComplete = waiting.every(({ domain_name }) => batch?.waiting.some(({ name }) => name === domain_name));
  mustHold(
    batch !== undefined && (isComplete || batch.version > 1),
    () => `${tag} waits for a payment, and is not kept`,
  );
}
