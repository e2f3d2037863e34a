import { updateAlerts } from "../../shared/billing/recharges/alerts.ts";
import { deletePaymentMethod, updateAutoRecharge } from "../../shared/billing/recharges/auto-recharge.ts";
import { openCardSetup } from "../../shared/billing/recharges/payment-method.ts";
import { handleProviderEvent, sweepRecharges } from "../../shared/billing/recharges/provider-events.ts";
import { giveBillingNotices, watchWallet } from "../../shared/billing/recharges/watch.ts";
import { InvalidInput, Problem } from "../../shared/core/errors.ts";
import { money } from "../../shared/core/money.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import { billingActors } from "./billing-actors.ts";
import { contextOf, newId, nowOf } from "./billing-scene.ts";
import type { Random } from "./random.ts";
import { cardsOf, rechargingOf, tell, tellCharge, type Dispute, type RechargeScene } from "./recharges-scene.ts";
import type { Actor } from "./world.ts";

type Act = ActIn<RechargeScene>;

const answers = new Set(["busy", "upstream_unavailable", "payment_method_required", "not_found"]);

const isAnswer = (error: unknown): error is Error =>
  error instanceof Problem ? answers.has(error.code) : error instanceof InvalidInput;

/** What of the billing of an account goes on beside its recharges. */
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

/** A charge is decided, a card is entered, or a payment is refunded, disputed or decided. */
export function bank(scene: RechargeScene, random: Random): void {
  const open = scene.setups.filter(({ status }) => status === "open");
  const pending = scene.charges.filter(({ status }) => status === "processing");
  // What was lost can be won by an appeal.
  const undecided = scene.disputes.filter(({ status }) => status !== "won");
  const act = random.pick(["enter", "settle", "settle", "refund", "dispute", "decide"] as const);
  if (act === "enter" && open.length > 0) {
    const setup = random.pick(open);
    setup.status = "saved";
    setup.card = { id: newId(scene, "card"), brand: "visa", last4: "4242", expMonth: 12, expYear: 2099 };
    tell(scene, { ...setup, id: newId(scene, "event"), type: "card_setup", setupId: setup.id }, true);
  }
  if (act === "settle" && pending.length > 0) settle(scene, random);
  if (act === "refund") refund(scene, random);
  if (act === "dispute") dispute(scene, random);
  if (act === "decide" && undecided.length > 0) {
    const one = random.pick(undecided);
    one.status = one.status === "lost" ? "won" : random.pick(["won", "lost"] as const);
    tellDispute(scene, one);
  }
}

/** The bank decides the charges that it is still processing. */
export function settle(scene: RechargeScene, random: Random): void {
  for (const charge of scene.charges.filter(({ status }) => status === "processing")) {
    charge.status = scene.isCalm || random.chance(0.7) ? "succeeded" : "failed";
    tellCharge(scene, charge);
  }
}

/** The payments that the bank can take back: succeeded charges and paid checkouts, and what is left of each. */
function payments({ charges, checkouts, refunded, disputes }: RechargeScene) {
  return [
    ...charges.filter(({ status }) => status === "succeeded"),
    ...checkouts.filter(({ stands }) => stands === "paid"),
  ].flatMap(({ id, accountId, amount }) => {
    const left = amount - (refunded.get(id)?.amount ?? 0);
    return left > 0 && disputes.every(({ paymentId }) => paymentId !== id) ? [{ id, accountId, left }] : [];
  });
}

function refund(scene: RechargeScene, random: Random): void {
  const possible = payments(scene);
  if (possible.length === 0 || scene.refunded.size > 5) return;
  const { id: paymentId, accountId, left } = random.pick(possible);
  const amount = random.chance(0.4) ? left : random.between(1, left);
  const sum = (scene.refunded.get(paymentId)?.amount ?? 0) + amount;
  scene.refunded.set(paymentId, { accountId, amount: sum });
  tell(scene, { id: newId(scene, "event"), type: "refund", paymentId, accountId, refunded: sum, currency: "USD" });
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
  tell(scene, { ...one, id: newId(scene, "event"), type: "dispute", currency: "USD", reason: "fraudulent" });

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

const card: Act = (scene, world, _, accountId) =>
  openCardSetup(accountId, contextOf(scene, world, accountId), {
    payments: cardsOf(scene, world),
    publicUrl: "http://here",
  });

const forget: Act = (scene, world, _, accountId) =>
  deletePaymentMethod(accountId, contextOf(scene, world, accountId), cardsOf(scene, world));
