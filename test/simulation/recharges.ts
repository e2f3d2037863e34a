import { createAccount } from "../../shared/access/operate-accounts.ts";
import { accountKey } from "../../shared/accounts/account.ts";
import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { updateAlerts } from "../../shared/billing/recharges/alerts.ts";
import { updateAutoRecharge } from "../../shared/billing/recharges/auto-recharge.ts";
import { openCardSetup } from "../../shared/billing/recharges/payment-method.ts";
import { handleProviderEvent, sweepRecharges } from "../../shared/billing/recharges/provider-events.ts";
import { watchWallet } from "../../shared/billing/recharges/watch.ts";
import { movementKey } from "../../shared/ledger/ledger.ts";
import { StoredMovement } from "../../shared/ledger/movement.ts";
import type { Write } from "../../shared/table/writes.ts";
import { topupKey } from "../../shared/wallet/topup.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";
import { keyOf } from "../support/memory-writes.ts";
import { mixed } from "./acting.ts";
import { fund } from "./beforehand.ts";
import { invoiceInvariant } from "./billing-invoice-books.ts";
import { askingOf, contextOf, currencyOf, dayMs, euroPrices, nowOf, silent } from "./billing-scene.ts";
import { accountStatusInvariant } from "./billing-status-books.ts";
import { walletInvariant } from "./billing-wallet-books.ts";
import { ledgerInvariant } from "./ledger-books.ts";
import type { Random } from "./random.ts";
import { bank, confirm, rechargeActors, settle } from "./recharges-actors.ts";
import { rechargeInvariant } from "./recharges-books.ts";
import {
  cardsOf,
  chargeMistakes,
  payingOf,
  rechargingOf,
  type ChargeMistake,
  type RechargeScene,
} from "./recharges-scene.ts";
import { mustHold, type Bug, type Module, type World } from "./world.ts";

const sortKeyOf = (write: Write): string => keyOf(write).SK;
const on =
  (pattern: RegExp): Bug =>
  (write) =>
    !("check" in write) && pattern.test(sortKeyOf(write));

/** These mistakes drop no condition. The provider breaks a promise. */
const around = chargeMistakes.map((name): [ChargeMistake, Bug] => [name, () => false]);

/** The saved card of an account, its recharges and alerts, and payments that are refunded or disputed. */
export const rechargesModule: Module = {
  name: "recharges",
  prices: [euroPrices],
  bugs: {
    "recharge-settings": on(/^AUTO_RECHARGE$/),
    "alerts-row": on(/^ALERTS$/),
    ...Object.fromEntries(around),
  },
  open: (random, bug) => {
    const [mistake] = around.find(([, planted]) => planted === bug) ?? [];
    const scene: RechargeScene = {
      // An account whose id begins with `b` pays in EUR.
      accounts: [random.pick(["9", "b"]).padEnd(8, "0") + "-0000-4000-8000-000000000009"],
      aheadMs: random.between(0, 900) * dayMs,
      checkouts: [],
      events: [],
      holds: [],
      ids: 0,
      chance: random.fork(),
      setups: [],
      removed: new Set(),
      charges: [],
      refunds: new Map(),
      disputes: [],
      told: [],
      isCalm: false,
      chargeMistake: mistake,
    };
    return {
      actors: mixed(rechargeActors(scene), themes, random),
      prepare: (world) => prepare(scene, world, random),
      quiet: (world, chance) => quiet(scene, world, chance),
      invariants: () =>
        scene.accounts.flatMap((id) => [
          ledgerInvariant(walletOf(id)),
          walletInvariant(scene, id),
          invoiceInvariant(id),
          accountStatusInvariant(id),
          rechargeInvariant(scene, id),
        ]),
    };
  },
};

const themes = [
  [],
  ["watch", "work", "spend"],
  ["watch", "work", "spend", "calendar"],
  ["bank", "report", "spend"],
  ["bank", "report"],
  ["watch", "work", "spend", "confirm", "deliver"],
  ["top-up", "close", "ask"],
  ["day", "calendar", "notices", "watch"],
];

/** Makes an account with money, a saved card, and recharges that are on. */
async function prepare(scene: RechargeScene, world: World, random: Random): Promise<void> {
  const client = { id: "c0000000-0000-4000-8000-000000000000", name: "A client" };
  for (const id of scene.accounts) {
    const currency = currencyOf(id);
    const account = { id, client, name: "An account", currency, ownerId: id };
    await createAccount(world.table, account, nowOf(scene, world)());
    const context = contextOf(scene, world, id);
    await openCardSetup(id, context, { payments: cardsOf(scene, world), publicUrl: "http://here" });
    // The bank and the payer act until the payer has entered the card.
    while (scene.setups.some(({ status }) => status === "open")) bank(scene, random);
    for (const told of scene.told) {
      await handleProviderEvent(told.event, rechargingOf(scene, world));
      told.isKnown = true;
    }
    const settings = { enabled: true, threshold: "2.00", amount: "3.00", monthly_cap: "10.00", max_per_month: 3 };
    await updateAutoRecharge(id, settings, context);
    await updateAlerts(id, { low_balance_threshold: "2.50" }, context);
    await fund(scene, { ...world, now: nowOf(scene, world) }, id, 300);
    // The payment also gets a paid checkout, so that it can be refunded or disputed.
    const paid = scene.events.find(({ event }) => event.accountId === id)?.event;
    if (!paid) throw new Error("nothing was paid");
    const { checkoutId, reference, amount } = paid;
    const checkout = { id: checkoutId, reference, accountId: id, amount, currency };
    scene.checkouts.push({ ...checkout, given: false, stands: "paid" });
  }
}

/** Delivers all events, decides all charges, and runs the worker. Then every payment must be booked once. */
async function quiet(scene: RechargeScene, world: World, random: Random): Promise<void> {
  scene.isCalm = true;
  for (let days = 0; days < 3; days++) {
    settle(scene, random);
    confirm(scene, world);
    await hearAll(scene, world, ({ isKnown }) => !isKnown);
    for (let rounds = 0; rounds < 3; rounds++) await workOff(scene, world);
    scene.aheadMs += dayMs;
  }
  settle(scene, random);
  await hearAll(scene, world, ({ isLost }) => !isLost);
  for (let rounds = 0; rounds < 8; rounds++) await workOff(scene, world);
  // `watch` calls its function once at the start.
  let commits = -1;
  const unwatch = world.watch(() => (commits += 1));
  await hearAll(scene, world, ({ isLost }) => !isLost);
  await workOff(scene, world);
  unwatch();
  mustHold(commits === 0, () => `everything was done, and done again it made ${commits} commits`);
  await checkBooked(scene, world);
  checkPages(scene, world);
}

/** Checks that a known page of a closed account cannot be paid any more. */
function checkPages({ checkouts }: RechargeScene, world: World): void {
  for (const { id, accountId, reference, stands } of checkouts) {
    const isClosed = world.peek(accountKey(accountId))?.["status"] === "closed";
    if (!isClosed || world.peek(topupKey(accountId, reference)) === undefined) continue;
    mustHold(stands !== "open", () => `${accountId} is closed, and ${id} can still be paid`);
  }
}

async function hearAll(
  scene: RechargeScene,
  world: World,
  isHeard: (told: { isKnown: boolean; isLost?: boolean }) => boolean,
): Promise<void> {
  const work = rechargingOf(scene, world);
  for (const { event } of scene.events.filter(isHeard)) await handlePayment(event, { ...work, log: silent });
  for (const told of scene.told.filter(isHeard)) {
    await handleProviderEvent(told.event, work);
    told.isKnown = true;
  }
  await sweepCheckouts({ ...askingOf(scene, world), payments: payingOf(scene, world) }, { early: true });
}

async function workOff(scene: RechargeScene, world: World): Promise<void> {
  const work = rechargingOf(scene, world);
  for (const id of scene.accounts) await watchWallet(id, work);
  await sweepRecharges(work);
}

/**
 * Checks that every succeeded charge is credited. Checks that every refund and every dispute has left the wallet,
 * unless the refund failed or the dispute was won.
 */
async function checkBooked({ accounts, charges, refunds, disputes }: RechargeScene, { table }: World): Promise<void> {
  /** The amount of a movement, or 0 if no account has the movement. */
  const amountOf = async (id: string): Promise<number> => {
    const found = await Promise.all(
      accounts.map((account) => table.get(movementKey(walletOf(account), id), StoredMovement)),
    );
    return found.find((one) => one !== undefined)?.amount ?? 0;
  };
  for (const { reference, status, amount } of charges) {
    const credited = await amountOf(`recharge/${reference}`);
    const expected = status === "succeeded" ? amount : 0;
    mustHold(credited === expected, () => `recharge ${reference} is ${status}, and ${credited} was credited`);
  }
  for (const { disputeId, amount, status } of disputes) {
    const [taken, given] = [await amountOf(`dispute/${disputeId}`), await amountOf(`dispute/${disputeId}/won`)];
    mustHold(
      taken - given === (status === "won" ? 0 : amount),
      () => `dispute ${disputeId} is ${status}: ${taken}, ${given}`,
    );
  }
  for (const [paymentId, { all }] of refunds) {
    for (const { id, amount, isFailed } of all) {
      const movementId = `refund/${paymentId}/${id.replace("-failed", "")}`;
      const out = (await amountOf(movementId)) - (await amountOf(`${movementId}/failed`));
      mustHold(out === (isFailed ? 0 : amount), () => `the refund ${id} is ${isFailed ? "failed" : "paid"}: ${out}`);
    }
  }
}
