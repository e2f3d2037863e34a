import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { isRegistered, isRenewing, isTransferring } from "../../shared/domains/domain.ts";
import { isDetached } from "../../shared/domains/setup/releasing.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { askingOf, dayMs, nowOf, silent } from "./billing-scene.ts";
import { doLife, removeLife } from "./lives-actors.ts";
import { checkPaid } from "./lives-books.ts";
import { calmLife, endOfTenure, phaseAt, tenureOf } from "./lives-registry.ts";
import { lifeWorkOf, type LifeScene } from "./lives-scene.ts";
import { dueAt } from "./purchases-facts.ts";
import type { Random } from "./random.ts";
import { mustHold, type World } from "./world.ts";

/**
 * Delivers the provider's events, and runs the worker until every request is over and every domain was checked. Then
 * all rules must hold. At the end all domains are deleted, and nothing may stay due.
 */
export async function restOfLives(scene: LifeScene, world: World, random: Random): Promise<void> {
  scene.registry.mood = calmLife;
  const told = { table: world.table, now: nowOf(scene, world), log: silent };
  for (const { event } of scene.events.filter(({ isKnown }) => !isKnown)) await handlePayment(event, told);
  await sweepCheckouts(askingOf(scene, world), { early: true });
  await workOff(scene, world, random);
  for (let days = 0; days < 3; days++) {
    scene.aheadMs += dayMs;
    await workOff(scene, world, random);
  }
  checkTenures(scene, world);
  checkRows(scene, world);
  checkHolds(scene, world);
  // A second deletion removes a domain that is kept after the first one.
  for (let times = 0; times < 2; times++) {
    const kept = [...scene.facts.rows.values()];
    for (const row of kept) await removeLife(scene, world, random, row);
  }
  await workOff(scene, world, random);
  const { rows, due } = scene.facts;
  mustHold(rows.size + due.size === 0, () => `everything was deleted, and ${rows.size} domains are left`);
}

const mostRounds = 400;

async function workOff(scene: LifeScene, world: World, random: Random): Promise<void> {
  for (let round = 0; ; round++) {
    const [open, due] = [openOf(scene), dueAt(scene.facts, nowOf(scene, world)())];
    if (open.length === 0 && due.length === 0) return;
    mustHold(round < mostRounds, () => `never comes to an end: ${open.join(", ")}`);
    for (const one of due) await doLife(one, lifeWorkOf(scene, world, random));
    const next = [...scene.facts.due.values()].map(({ at }) => at).toSorted()[0] ?? "";
    mustHold(next !== "" || openOf(scene).length === 0, () => "something is not over, and nothing is due");
    // The next run of the worker, a minute later, does the tasks that stay due.
    const waitMs = Date.parse(next) - nowOf(scene, world)().getTime();
    if (next !== "" && openOf(scene).length > 0) scene.aheadMs += waitMs > 0 ? waitMs : 60_000;
    else if (dueAt(scene.facts, nowOf(scene, world)()).length > 0) scene.aheadMs += 60_000;
  }
}

/** The names of open work: transfers, renewals, deletions, and requests whose payment has arrived. */
function openOf({ facts }: LifeScene): string[] {
  const rows = [...facts.rows.values()].filter(
    (row) => isTransferring(row) || isRenewing(row) || (row.status === "releasing" && !isDetached(row)),
  );
  const batches = [...facts.due.values()].filter(({ queue }) => queue === "PURCHASE_DUE");
  return [...rows.map(({ name, status }) => `${name} ${status}`), ...batches.map(({ id }) => id)];
}

/** Checks that every name that the registrar has for us is shown by the domain that paid for the name. */
function checkTenures({ registry, facts, ...scene }: LifeScene, world: World): void {
  const nowMs = nowOf(scene, world)().getTime();
  for (const name of registry.prices.keys()) {
    const tenure = tenureOf(registry, name, nowMs);
    if (!tenure) continue;
    const row = [...facts.lives.values()].find(({ transfer }) => transfer?.hold_id === tenure.holdId);
    mustHold(row !== undefined, () => `${name} is ours, and nobody has it`);
    // If a domain was deleted while the registrar did not show its name, the registration stays until its end.
    const isDeleted = ![...facts.rows.values()].some(({ id }) => id === row.id);
    if (isDeleted && row.status === "releasing" && !isDetached(row)) continue;
    const end = endOfTenure(registry, tenure, () => true);
    const phase = phaseAt(end, nowMs);
    const shown = `${row.status}, ${row.source} and ${row.registration?.status}`;
    const isThere = row.source === "purchased" && row.registration?.expires_at === end.toISOString();
    mustHold(isThere, () => `${name} is ours until ${end.toISOString()}, and is ${shown}`);
    const status = phase === "redemption" ? "expired" : "pending_delegation";
    mustHold(row.status === status, () => `${name} is in ${phase}, and is ${shown}`);
    const isOurs = row.dns_mode === "external" || tenure.nameservers.join() === row.nameservers.join();
    mustHold(isOurs || phase === "redemption", () => `${name} is delegated to ${tenure.nameservers.join()}`);
  }
}

/** Checks that the auth code of every domain is deleted, and that every registered domain is at the registrar. */
function checkRows({ registry, facts, ...scene }: LifeScene, world: World): void {
  const nowMs = nowOf(scene, world)().getTime();
  for (const row of facts.rows.values()) {
    const { name, transfer } = row;
    mustHold(transfer?.sealed_auth_code === undefined, () => `${name} still has its auth code`);
    if (!isRegistered(row)) continue;
    const tenure = tenureOf(registry, name, nowMs);
    mustHold(tenure?.holdId === transfer?.hold_id, () => `${name} is said to be registered here, and is not`);
  }
}

/** Checks that every paid operation was done, and that no hold is pending. */
function checkHolds(scene: LifeScene, { peek }: World): void {
  for (const { account_id, name, transfer, renewal } of scene.facts.lives.values()) {
    for (const hold of [transfer, renewal]) {
      const found = hold && peek(movementKey(walletOf(account_id), hold.hold_id));
      if (!found) continue;
      const movement = StoredMovement.parse(found);
      mustHold(movement.status !== "pending", () => `${movement.amount} are still held for ${name}`);
      checkPaid(scene, movement);
    }
  }
}
