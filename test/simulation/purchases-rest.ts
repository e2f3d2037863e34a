import { sweepDomains } from "../../functions/workers/advance-domains.ts";
import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { isRenewing } from "../../shared/domains/domain.ts";
import { holdIdOf } from "../../shared/domains/purchase/buy.ts";
import { isDetached } from "../../shared/domains/setup/releasing.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { askingOf, nowOf, silent } from "./billing-scene.ts";
import { doDue } from "./purchases-actors.ts";
import { batchOf, boughtBy, dueAt } from "./purchases-facts.ts";
import { calm } from "./purchases-registry.ts";
import { workOf, type PurchaseScene } from "./purchases-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

/**
 * Delivers the provider's events, and runs the worker until every purchase is over. Then all rules must hold, and a
 * repeat of the events and of the worker must commit nothing.
 */
export async function rest(scene: PurchaseScene, world: World, random: Random): Promise<void> {
  scene.registry.mood = calm;
  const told = { table: world.table, now: nowOf(scene, world), log: silent };
  for (const { event } of scene.events.filter(({ isKnown }) => !isKnown)) await handlePayment(event, told);
  await sweepCheckouts(askingOf(scene, world), { early: true });
  await workOff(scene, world, random);
  checkNames(scene, world);
  checkMoney(scene);
  checkRenewals(scene, world);
  checkOutcomes(scene);
  // `watch` calls its function once at the start.
  let commits = -1;
  const unwatch = world.watch(() => (commits += 1));
  for (const { event, isLost } of scene.events) if (!isLost) await handlePayment(event, told);
  const { due } = await sweepDomains(workOf(scene, world, random));
  unwatch();
  mustHold(due === 0, () => `everything was done, and ${due} things are due`);
  mustHold(commits === 0, () => `everything was done, and done again it made ${commits} commits`);
}

const mostRounds = 400;

async function workOff(scene: PurchaseScene, world: World, random: Random): Promise<void> {
  for (let round = 0; ; round++) {
    const [open, due] = [openOf(scene), dueAt(scene.facts, nowOf(scene, world)())];
    if (open.length === 0 && due.length === 0) return;
    mustHold(round < mostRounds, () => `never comes to an end: ${[...open, ...due.map(({ id }) => id)].join(", ")}`);
    // Each run of the worker is a process of its own.
    for (const one of due) await doDue(one, workOf(scene, world, random));
    const next = [...scene.facts.due.values()].map(({ at }) => at).toSorted()[0] ?? "";
    mustHold(next !== "" || openOf(scene).length === 0, () => "something is not over, and nothing is due");
    // The next run of the worker, a minute later, does the tasks that stay due.
    const waitMs = Date.parse(next) - nowOf(scene, world)().getTime();
    if (next !== "" && (due.length === 0 || waitMs <= 0)) scene.aheadMs += waitMs > 0 ? waitMs : 60_000;
  }
}

/** The names of open work: purchases and renewals that wait or run, and domains that are being released. */
function openOf({ facts }: PurchaseScene): string[] {
  const rows = [...facts.rows.values()].filter(
    (row) =>
      row.status === "pending_registration" || isRenewing(row) || (row.status === "releasing" && !isDetached(row)),
  );
  const due = [...facts.due.values()].filter(({ queue }) => queue !== "DOMAIN_DUE");
  return [
    ...rows.map(({ name, status, purchase }) => `${name} ${status} ${purchase?.stage}`),
    ...due.map(({ id }) => id),
  ];
}

/**
 * Checks that every name that was registered for a purchase is paid, and is in the account until it is given back.
 */
function checkNames({ registry, facts }: PurchaseScene, { peek }: World): void {
  for (const { name, tag, outcome, goneMs } of registry.operations.filter((one) => one.outcome === "succeeded")) {
    const batch = batchOf(facts, tag);
    mustHold(batch !== undefined, () => `${name} is registered for ${tag}, which is no purchase`);
    const hold = peek(movementKey(walletOf(batch.account_id), holdIdOf(batch.id, name)));
    mustHold(hold?.["status"] === "captured", () => `${name} ${outcome} for ${tag}, and is not paid`);
    const row = [...facts.rows.values()].find((one) => one.name === name && one.purchase?.batch_id === batch.id);
    const isThere = row?.status === "pending_delegation";
    mustHold(isThere === (goneMs === Infinity), () => `${name} of ${tag} is ${row?.status ?? "nowhere"}`);
  }
}

/**
 * Checks that every purchase is over, paid or free again, and that the number of paid names is the number of registered
 * names.
 */
function checkMoney({ registry, facts }: PurchaseScene): void {
  for (const { name, purchase, status } of facts.lives.values()) {
    if (!purchase) continue;
    const isOver = purchase.stage === "captured" || purchase.stage === "voided";
    mustHold(isOver, () => `${name} is ${status}, and its purchase ${purchase.stage}`);
  }
  const paid = [...facts.lives.values()].filter(({ purchase }) => purchase?.stage === "captured").length;
  const registered = registry.operations.filter(({ outcome }) => outcome === "succeeded").length;
  mustHold(paid === registered, () => `${paid} names are paid, and ${registered} registered`);
}

/** Checks that every renewal at the registrar was paid once. */
function checkRenewals({ registry, facts }: PurchaseScene, { peek }: World): void {
  for (const { id, name, holdId } of registry.renewals.filter(({ outcome }) => outcome === "succeeded")) {
    const domainId = holdId.split("/")[1] ?? "";
    const accountId = facts.lives.get(domainId)?.account_id ?? "";
    const status = peek(movementKey(walletOf(accountId), holdId))?.["status"];
    mustHold(status === "captured", () => `${name} was renewed by ${id}, and its hold is ${String(status)}`);
  }
}

/**
 * Checks that no order bought a name twice, that every begun registration is over, and that every paid order was
 * continued.
 */
function checkOutcomes(scene: PurchaseScene): void {
  const { answers, facts } = scene;
  for (const { tag, names } of scene.orders) {
    const twice = names.find((name) => boughtBy(facts, tag, name).length > 1);
    mustHold(twice === undefined, () => `${twice} was bought twice by ${tag}`);
  }
  for (const { order, answer } of answers) {
    for (const { domain_name: name, status, id } of answer.results) {
      if (status !== "pending_registration") continue;
      const life = boughtBy(facts, order.tag, name).find((one) => id === null || one.id === id);
      const stage = life?.purchase?.stage;
      mustHold(stage === "captured" || stage === "voided", () => `${name} of ${order.tag} is ${stage ?? "nowhere"}`);
    }
  }
  for (const { id, status, purchase_batch_id: batchId } of facts.topups.values()) {
    if (status !== "paid" || batchId === undefined) continue;
    const { results = [] } = facts.continued.get(batchId) ?? {};
    mustHold(results.length > 0, () => `the top-up ${id} is paid, and its purchase ${batchId} is not continued`);
    for (const result of results) checkContinued(scene, batchId, result);
  }
}

type Result = { domain_name: string; status: string; error_code: string | null };

/** Checks the result of a name that waited for its payment: it was bought, or the reason of the refusal is true. */
function checkContinued(
  { facts, registry }: PurchaseScene,
  batchId: string,
  { domain_name: name, status, error_code }: Result,
) {
  const lives = [...facts.lives.values()].filter((life) => life.name === name);
  const bought = lives.find(({ purchase }) => purchase?.batch_id === batchId);
  mustHold((bought !== undefined) === (status === "pending_registration"), () => `${name} is said to be ${status}`);
  if (error_code === "quote_changed" || error_code === "domain_unavailable") {
    const isSo = registry.unsettled.has(name) || registry.operations.some((one) => one.name === name);
    mustHold(isSo, () => `${name} was said to have changed, and was free at the same price all the time`);
  }
  if (error_code === "domain_exists") {
    const batch = [...facts.batches.values()].find(({ id }) => id === batchId);
    const own = lives.filter(({ account_id }) => account_id === batch?.account_id);
    const paidAt = facts.paidAt.get(batchId) ?? "";
    const isSo = own.some(
      ({ purchase, status, updated_at }) =>
        purchase === undefined || purchase.stage === "captured" || status === "releasing" || updated_at >= paidAt,
    );
    mustHold(isSo, () => `${name} was said to be there, and had failed before its payment came`);
  }
}
