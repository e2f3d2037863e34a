import { advanceDomain } from "../../functions/workers/advance-domains.ts";
import { Problem, type ProblemCode } from "../../shared/core/errors.ts";
import { nameserversOf } from "../../shared/core/platform.ts";
import { advanceRelease, beginRelease } from "../../shared/deletion/domain.ts";
import { restoreDomain } from "../../shared/deletion/restore.ts";
import type { Resolver } from "../../shared/dns/answer.ts";
import { isRegistered, type StoredDomain } from "../../shared/domains/domain.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import { renewDomain } from "../../shared/domains/renewal/renew.ts";
import { addDomain } from "../../shared/domains/setup/add.ts";
import { moveDomain } from "../../shared/domains/setup/move.ts";
import { isKept } from "../../shared/domains/setup/releasing.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import { ask, deliver, spend, topUp } from "./billing-actors.ts";
import { contextOf, dayMs, nowOf, visitCheckout, type Scene } from "./billing-scene.ts";
import { Death, mortal } from "./mortal.ts";
import {
  buy,
  buyAgain,
  buyThese,
  buyTruly,
  drawOrder,
  freeNames,
  newOrder,
  send,
  sendAgain,
} from "./purchases-buyers.ts";
import { dueAt, type Due } from "./purchases-facts.ts";
import { registrarOf } from "./purchases-registrar.ts";
import { unsettle } from "./purchases-registry.ts";
import { dns, workOf, type PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import type { Actor, World } from "./world.ts";

type Act = ActIn<PurchaseScene>;

/** The errors that a caller may get. Any other error is a mistake. */
const answers = new Set<ProblemCode>([
  "busy",
  "upstream_unavailable",
  "quote_changed",
  "domain_not_ready",
  "not_found",
  "idempotency_in_flight",
  "domain_exists",
  "domain_taken",
  "insufficient_funds",
  "renewal_running",
  "too_many_years",
  "not_registered_here",
]);

export const isAnswer = (error: unknown): error is Problem => error instanceof Problem && answers.has(error.code);

export function purchaseActors(scene: PurchaseScene): Actor[] {
  const acting = actingIn(scene, isAnswer);
  return [
    acting("buy", 6, buy),
    acting("buy-again", 2, buyAgain),
    acting("send-again", 3, sendAgain),
    acting("buy-twice", 3, buyTwice),
    acting("connect", 3, connect),
    acting("contend", 3, contend),
    acting("work", 30, work),
    acting("remove", 5, remove),
    acting("restore", 2, restore),
    acting("pass-on", 4, passOn),
    acting("move", 4, move),
    acting("renew", 4, renew),
    acting("pay", 6, pay),
    acting("ask", 2, ask),
    acting("top-up", 1, topUp),
    acting("spend", 1, spend),
    acting("time", 4, time),
    acting("registry", 1, async ({ registry }, world, random) => world.note(unsettle(registry, random))),
  ];
}

/**
 * Does due tasks, as one run of the worker does: several at once, those of paid purchases first. Other processes may do
 * the same tasks.
 */
const work: Act = async (scene, world, random) => {
  const due = dueAt(scene.facts, nowOf(scene, world)());
  if (due.length === 0) await time(scene, world, random, "");
  const tasks = dueAt(scene.facts, nowOf(scene, world)());
  const batches = random.shuffle(tasks.filter(({ queue }) => queue === "PURCHASE_DUE"));
  const domains = random.shuffle(tasks.filter(({ queue }) => queue !== "PURCHASE_DUE"));
  const some = [...batches, ...domains].slice(0, random.pick([1, 1, 2, 4]));
  const own = workOf(scene, world, random);
  const results = await Promise.allSettled(some.map((one) => doDue(one, own)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
};

/** Does one due task, as the sweep does. */
export const doDue = ({ queue, accountId, id, at }: Due, work: DomainWork): Promise<void> =>
  queue === "PURCHASE_DUE" ? continueBatch(accountId, id, at, work) : advanceDomain(accountId, id, at, work);

/** Sends a purchase whose process may die after its first or second transaction. Later sends the purchase again. */
const buyTwice: Act = async (scene, world, random, accountId) => {
  const order = { ...drawOrder(scene, random, accountId), ...newOrder(scene, true) };
  try {
    await send(scene, mortal(world, random.between(1, 2)), random, order);
  } catch (error) {
    if (!(error instanceof Death)) throw error;
  }
  // After 31 seconds, no request holds the idempotency key any more. The worker may run before the repeat.
  scene.aheadMs += random.between(31_000, 3_600_000);
  for (let run = random.below(3); run > 0; run--) await work(scene, world, random, accountId);
  await buyTruly(scene, world, random, order);
};

/** Connects a name for an account. Sometimes the parent zone delegates the name to this account. */
const connect: Act = (scene, world, random, accountId) =>
  connectOne(scene, world, random, { accountId, name: random.pick([...scene.registry.listings.keys()]) });

async function connectOne(
  scene: PurchaseScene,
  world: World,
  random: Random,
  { accountId, name }: { accountId: string; name: string },
): Promise<void> {
  const workspaceId = random.pick(scene.workspaces.get(accountId) ?? []);
  world.note(`connects ${name} for ${accountId.charAt(0)}`);
  const resolver = resolverFor(scene, world, random, accountId);
  await addDomain(accountId, { name, workspaceId }, contextOf(scene, world, accountId), resolver);
}

/** A resolver whose parent zone delegates a name to an account, or to nobody. */
function resolverFor(scene: PurchaseScene, world: World, random: Random, accountId: string): Resolver {
  const proof = { status: "delegated" as const, nameservers: nameserversOf(accountId) };
  const delegation = async () => (random.chance(0.3) ? proof : { status: "none" as const });
  return { ...workOf(scene, world, random).resolver, delegation };
}

/** One account connects a name, and another account buys the name. */
const contend: Act = async (scene, world, random, accountId) => {
  const free = freeNames(scene);
  if (free.length === 0) return;
  const name = random.pick(free);
  await connectOne(scene, world, random, { accountId, name });
  const other = random.pick(scene.accounts.filter((one) => one !== accountId));
  await buyThese(scene, world, random, { accountId: other, names: [name] });
  await work(scene, world, random, other);
};

/** Deletes a domain, as the route does. Mostly chooses a domain that can be deleted. */
const remove: Act = async (scene, world, random) => {
  const rows = [...scene.facts.rows.values()];
  const ready = rows.filter(({ status }) => status !== "pending_registration");
  const some = random.chance(0.95) ? ready : rows;
  if (some.length > 0) await removeOne(scene, world, random, random.pick(some));
};

async function removeOne(scene: PurchaseScene, world: World, random: Random, found: StoredDomain): Promise<void> {
  const { account_id, name, status } = found;
  world.note(`removes ${name}, which is ${status}`);
  const context = contextOf(scene, world, account_id);
  const registrar = registrarOf(scene, world, random);
  const wish = { release: true, purge: found.status === "releasing" };
  await advanceRelease(await beginRelease(found, wish, context), context, { dns, registrar });
}

/** Restores a domain, mostly a deleted one. Sometimes the parent zone delegates its name to the account. */
const restore: Act = async (scene, world, random) => {
  const all = [...scene.facts.rows.values()];
  const kept = all.filter(isKept);
  const rows = kept.length > 0 && random.chance(0.9) ? kept : all;
  if (rows.length === 0) return;
  const found = random.pick(rows);
  world.note(`restores ${found.name}, which is ${found.status}`);
  const { account_id } = found;
  await restoreDomain(found, contextOf(scene, world, account_id), resolverFor(scene, world, random, account_id));
};

/** One account deletes a domain, and another account buys its name. */
const passOn: Act = async (scene, world, random) => {
  const rows = [...scene.facts.rows.values()].filter(({ status }) => status !== "pending_registration");
  if (rows.length === 0) return;
  const found = random.pick(rows);
  await removeOne(scene, world, random, found);
  const other = scene.accounts.find((accountId) => accountId !== found.account_id) ?? "";
  await buyThese(scene, world, random, { accountId: other, names: [found.name] });
  await work(scene, world, random, other);
};

/** Moves a domain to one of the two workspaces of its account, at any moment. */
const move: Act = async (scene, world, random) => {
  const rows = [...scene.facts.rows.values()];
  if (rows.length === 0) return;
  const found = random.pick(rows);
  const to = random.pick(scene.workspaces.get(found.account_id) ?? []);
  await moveDomain(found, to, contextOf(scene, world, found.account_id));
};

/** Renews a domain, as the route does. */
const renew: Act = async (scene, world, random) => {
  const all = [...scene.facts.rows.values()];
  const rows = random.chance(0.9) ? all.filter((row) => row.is_open && isRegistered(row)) : all;
  if (rows.length === 0) return;
  const found = random.pick(rows);
  const renewal = { years: random.between(1, 3), ...(random.chance(0.2) ? { max_total: "15.00" } : {}) };
  world.note(`renews ${found.name} for ${renewal.years} years`);
  await renewDomain(found, renewal, contextOf(scene, world, found.account_id), registrarOf(scene, world, random));
};

/** Lets a payer act on a payment page, in most cases. Then delivers one of the provider's events. */
export const pay: ActIn<Scene> = async (scene, world, random, accountId) => {
  if (random.chance(0.7)) visitCheckout(scene, world, random);
  if (scene.events.length > 0) await deliver(scene, world, random, accountId);
};

/** Moves the clock on by seconds, minutes, hours or days, or until something is due. */
const time: Act = async (scene, world, random) => {
  const now = nowOf(scene, world)();
  const next = [...scene.facts.due.values()].map(({ at }) => Date.parse(at) - now.getTime()).filter((ms) => ms > 0);
  const aheadMs = random.pick([1_000, 30_000, 120_000, 600_001, random.between(1, 6) * 3_600_000, dayMs]);
  scene.aheadMs += next.length > 0 && random.chance(0.6) ? Math.min(...next) : aheadMs;
  world.note(`time: ${nowOf(scene, world)().toISOString()}`);
};
