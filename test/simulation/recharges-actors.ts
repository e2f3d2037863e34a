import { closeAccount } from "../../shared/billing/close.ts";
import { updateAlerts } from "../../shared/billing/recharges/alerts.ts";
import { deletePaymentMethod, updateAutoRecharge } from "../../shared/billing/recharges/auto-recharge.ts";
import { openCardSetup } from "../../shared/billing/recharges/payment-method.ts";
import { handleProviderEvent, sweepRecharges } from "../../shared/billing/recharges/provider-events.ts";
import { giveBillingNotices, watchWallet } from "../../shared/billing/recharges/watch.ts";
import { InvalidInput, Problem } from "../../shared/core/errors.ts";
import { money } from "../../shared/core/money.ts";
import { topupKey } from "../../shared/wallet/topup.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import { billingActors } from "./billing-actors.ts";
import { contextOf, currencyOf, newId, nowOf } from "./billing-scene.ts";
import type { Random } from "./random.ts";
import { cardsOf, rechargingOf, tell, tellCharge, type Dispute, type RechargeScene } from "./recharges-scene.ts";
import type { Actor, World } from "./world.ts";

type Act = ActIn<RechargeScene>;

const answers = new Set(["busy", "upstream_unavailable", "payment_method_required", "not_found"]);

const isAnswer = (error: unknown): error is Error =>
  error instanceof Problem ? answers.has(error.code) : error instanceof InvalidInput;

/** The actors of the module `billing` that act beside the recharges. */
const beside = new Set(["day", "calendar", "deliver", "ask", "visit", "top-up", "spend", "hold", "resolve", "usage"]);

export const rechargeActors = (scene: RechargeScene): Actor[] => {
  const acting = actingIn(scene, isAnswer);
  return [
    ...billingActors(scene).filter(({ name }) => beside.has(name)),
    acting("watch", 10, watch),
    acting("work", 10, work),
    acting("notices", 3, notices),
    acting("bank", 8, async (_, __, random) => bank(scene, random)),
    acting("report", 10, report),
    acting("settings", 2, settings),
    acting("card", 2, card),
    acting("forget", 1, forget),
    acting("close", 1, close),
    acting("confirm", 2, async (_, world) => confirm(scene, world)),
  ];
};

const watch: Act = (scene, world, _, accountId) =>
  watchWallet(accountId, { table: world.table, now: nowOf(scene, world) });

const notices: Act = (scene, world, _, accountId) =>
  giveBillingNotices(accountId, { table: world.table, now: nowOf(scene, world) });

const work: Act = async (scene, world) => {
  const { due, done } = await sweepRecharges(rechargingOf(scene, world));
  world.note(`recharges: ${done} of ${due}`);
};

/**
 * Tries one act of the bank or of a payer: enters a card, decides the pending charges, makes a refund, makes a refund
 * fail, opens a dispute, or decides a dispute.
 */
export function bank(scene: RechargeScene, random: Random): void {
  const open = scene.setups.filter(({ status }) => status === "open");
  const pending = scene.charges.filter(({ status }) => status === "processing");
  // An appeal can win a lost dispute.
  const undecided = scene.disputes.filter(({ status }) => status !== "won");
  const act = random.pick(["enter", "settle", "settle", "refund", "fail", "dispute", "decide"] as const);
  if (act === "enter" && open.length > 0) {
    const setup = random.pick(open);
    setup.status = "saved";
    setup.card = { id: newId(scene, "card"), brand: "visa", last4: "4242", expMonth: 12, expYear: 2099 };
    tell(scene, { ...setup, id: newId(scene, "event"), type: "card_setup", setupId: setup.id }, true);
  }
  if (act === "settle" && pending.length > 0) settle(scene, random);
  if (act === "refund") refund(scene, random);
  if (act === "fail") failRefund(scene, random);
  if (act === "dispute") dispute(scene, random);
  if (act === "decide" && undecided.length > 0) {
    const one = random.pick(undecided);
    one.status = one.status === "lost" ? "won" : random.pick(["won", "lost"] as const);
    tellDispute(scene, one);
  }
}

/** Decides the charges that the bank is still processing. */
export function settle(scene: RechargeScene, random: Random): void {
  for (const charge of scene.charges.filter(({ status }) => status === "processing")) {
    charge.status = scene.isCalm || random.chance(0.7) ? "succeeded" : "failed";
    tellCharge(scene, charge);
  }
}

/**
 * The succeeded charges and paid checkouts that can be refunded or disputed. `left` is the part of the amount that is
 * not refunded.
 */
function payments({ charges, checkouts, refunds, disputes }: RechargeScene) {
  return [
    ...charges.filter(({ status }) => status === "succeeded"),
    ...checkouts.filter(({ stands }) => stands === "paid"),
  ].flatMap(({ id, accountId, amount }) => {
    const valid = (refunds.get(id)?.all ?? []).filter(({ isFailed }) => !isFailed);
    const left = valid.reduce((rest, refund) => rest - refund.amount, amount);
    return left > 0 && disputes.every(({ paymentId }) => paymentId !== id) ? [{ id, accountId, left }] : [];
  });
}

function refund(scene: RechargeScene, random: Random): void {
  const possible = payments(scene);
  if (possible.length === 0 || scene.refunds.size > 5) return;
  const { id: paymentId, accountId, left } = random.pick(possible);
  const amount = random.chance(0.4) ? left : random.between(1, left);
  const before = scene.refunds.get(paymentId)?.all ?? [];
  const all = [...before, { id: newId(scene, "refund"), amount, isFailed: false }];
  scene.refunds.set(paymentId, { accountId, all });
  tellRefunds(scene, paymentId);
}

/** Makes a refund fail: the payer's bank refuses it, and sends it back. */
function failRefund(scene: RechargeScene, random: Random): void {
  const valid = [...scene.refunds].flatMap(([paymentId, { all }]) =>
    all.filter(({ isFailed }) => !isFailed).map(({ id }) => ({ paymentId, id })),
  );
  if (valid.length === 0) return;
  const { paymentId, id } = random.pick(valid);
  const { accountId, all } = scene.refunds.get(paymentId) ?? { accountId: "", all: [] };
  const failed = { isFailed: true, ...(scene.chargeMistake === "refund-renamed" ? { id: `${id}-failed` } : {}) };
  scene.refunds.set(paymentId, { accountId, all: all.map((one) => (one.id === id ? { ...one, ...failed } : one)) });
  tellRefunds(scene, paymentId);
}

function tellRefunds(scene: RechargeScene, paymentId: string): void {
  const { accountId, all: refunds } = scene.refunds.get(paymentId) ?? { accountId: "", all: [] };
  tell(scene, {
    id: newId(scene, "event"),
    type: "refund",
    paymentId,
    accountId,
    refunds,
    currency: currencyOf(accountId),
  });
}

function dispute(scene: RechargeScene, random: Random): void {
  const possible = payments(scene);
  if (possible.length === 0 || scene.disputes.length > 3) return;
  const { id: paymentId, accountId, left: amount } = random.pick(possible);
  const one: Dispute = { disputeId: newId(scene, "dispute"), paymentId, accountId, amount, status: "open" };
  scene.disputes.push(one);
  tellDispute(scene, one);
}

const tellDispute = (scene: RechargeScene, one: Dispute): void =>
  tell(scene, {
    ...one,
    id: newId(scene, "event"),
    type: "dispute",
    currency: currencyOf(one.accountId),
    reason: "fraudulent",
  });

const report: Act = async (scene, world, random) => {
  const told = random.shuffle(scene.told.slice(-5)).find(({ isLost }) => !isLost);
  if (!told) return;
  const outcome = await handleProviderEvent(told.event, rechargingOf(scene, world));
  told.isKnown = true;
  world.note(`reported ${told.event.type}: ${outcome}`);
};

const settings: Act = async (scene, world, random, accountId) => {
  const context = contextOf(scene, world, accountId);
  if (random.chance(0.3)) {
    return updateAlerts(accountId, { low_balance_threshold: money(random.between(50, 400)) }, context);
  }
  const amount = random.between(100, 400);
  const change = {
    enabled: random.chance(0.85),
    monthly_cap: money(random.between(amount, 1_500)),
    amount: money(amount),
  };
  return updateAutoRecharge(accountId, { ...change, max_per_month: random.between(1, 4) }, context);
};

/** Pays on the page of a recharge that the bank wants to have confirmed. */
export function confirm(scene: RechargeScene, world: World): void {
  const page = scene.checkouts.find(
    ({ accountId, reference, stands }) =>
      stands === "open" && world.peek(topupKey(accountId, reference))?.["recharge_id"] !== undefined,
  );
  if (!page) return;
  page.stands = "paid";
  const { id: checkoutId, reference, accountId, amount } = page;
  const payment = {
    checkoutId,
    reference,
    accountId,
    amount,
    currency: currencyOf(accountId),
    at: nowOf(scene, world)(),
  };
  scene.events.push({ event: { id: newId(scene, "event"), type: "paid", ...payment }, isKnown: false });
}

/** Closes the account, as the operator does. This happens rarely. */
const close: Act = async (scene, world, random, accountId) => {
  if (random.chance(0.15)) await closeAccount(world.table, accountId, nowOf(scene, world)());
};

const card: Act = (scene, world, _, accountId) =>
  openCardSetup(accountId, contextOf(scene, world, accountId), {
    payments: cardsOf(scene, world),
    publicUrl: "http://here",
  });

const forget: Act = (scene, world, _, accountId) =>
  deletePaymentMethod(accountId, contextOf(scene, world, accountId), cardsOf(scene, world));
