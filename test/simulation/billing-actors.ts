import { setAccountStatus } from "../../shared/access/operate-accounts.ts";
import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { currentPlan } from "../../shared/billing/current-plan.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { cancelPlan, changePlan } from "../../shared/billing/plan.ts";
import { updateProfile } from "../../shared/billing/profile.ts";
import { runAccount } from "../../shared/billing/run.ts";
import { listTransactions } from "../../shared/billing/transactions.ts";
import { walletBalance } from "../../shared/billing/views.ts";
import { InvalidInput, Problem } from "../../shared/core/errors.ts";
import { dayOf, plusDays } from "../../shared/core/time.ts";
import { availableOf, Balance, emptyBalance } from "../../shared/ledger/balance.ts";
import { balanceKey } from "../../shared/ledger/ledger.ts";
import { MovementConflict } from "../../shared/ledger/movement.ts";
import { sentKey } from "../../shared/mail/usage/sent.ts";
import { PlanId, plans } from "../../shared/wallet/catalogue.ts";
import { purchaseHold } from "../../shared/wallet/purchase.ts";
import { createTopup } from "../../shared/wallet/topup.ts";
import { readVatRule } from "../../shared/wallet/vat.ts";
import { planWallet, walletOf, type Posting } from "../../shared/wallet/wallet.ts";
import { addUsage } from "../support/usage.ts";
import { actingIn, type Act as ActIn } from "./acting.ts";
import {
  sweepDays,
  askingOf,
  committer,
  currencyOf,
  contextOf,
  dayMs,
  newId,
  nowOf,
  providerOf,
  silent,
  visitCheckout,
  yesterdayOf,
  type Checkout,
  type Scene,
} from "./billing-scene.ts";
import type { Random } from "./random.ts";
import { mustHold, type Actor, type World } from "./world.ts";

type Act = ActIn<Scene>;

/** The errors that a caller may get. Any other error is a mistake. */
const answers = new Set([
  "busy",
  "upstream_unavailable",
  "plan_unchanged",
  "plan_cancelled",
  "plan_in_use",
  "payment_due",
]);

const isAnswer = (error: unknown): error is Error =>
  error instanceof Problem
    ? answers.has(error.code)
    : error instanceof MovementConflict || error instanceof InvalidInput;

export const billingActors = (scene: Scene): Actor[] => {
  const acting = actingIn(scene, isAnswer);
  return [
    acting("day", 10, day),
    acting("calendar", 6, calendar),
    acting("deliver", 8, deliver),
    acting("ask", 4, ask),
    acting("visit", 5, async (_, world, random) => visitCheckout(scene, world, random)),
    acting("top-up", 3, topUp),
    acting("spend", 3, spend),
    acting("hold", 3, hold),
    acting("move", 1, move),
    acting("resolve", 4, resolve),
    acting("change-plan", 3, change),
    acting("cancel-plan", 2, cancel),
    acting("usage", 4, use),
    acting("operator", 2, operate),
    acting("read", 1, read),
  ];
};

/** Closes days, as the worker or the operator does. */
const day: Act = (scene, world, random, accountId) =>
  random.chance(0.7) ? sweepDays(scene, world) : operatorRun(scene, world, random, accountId);

const operatorRun: Act = (scene, world, random, accountId) => {
  const last = plusDays(yesterdayOf(scene, world), random.chance(0.2) ? -random.between(1, 40) : 0);
  return runAccount(accountId, last, { table: world.table, now: nowOf(scene, world), requestId: newId(scene, "run") });
};

/** Moves the calendar on by hours, by days, or to the end of the month. */
const calendar: Act = async (scene, world, random) => {
  const now = nowOf(scene, world)();
  const monthEnd = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime();
  scene.aheadMs += random.pick([3_600_000, dayMs, random.between(2, 20) * dayMs, monthEnd, monthEnd]);
  world.note(`calendar: ${nowOf(scene, world)().toISOString()}`);
};

export const deliver: Act = async (scene, world, random) => {
  if (scene.events.length === 0) visitCheckout(scene, world, random);
  const told = random.shuffle(scene.events.slice(-3)).find(({ isLost }) => !isLost);
  if (!told) return;
  const outcome = await handlePayment(told.event, { table: world.table, now: nowOf(scene, world), log: silent });
  told.isKnown = true;
  world.note(`${told.event.type} of ${told.event.checkoutId}: ${outcome}`);
};

/**
 * Asks the provider about due checkouts, as the worker does. Sometimes also asks about open checkouts that are not due.
 */
export const ask: Act = async (scene, world, random) => {
  if (scene.askingMistake === "nobody-asks") return;
  const { due, done } = await sweepCheckouts(askingOf(scene, world), { early: random.chance(0.3) });
  world.note(`asked about ${done} of ${due}`);
};

export const topUp: Act = async (scene, world, random, accountId) => {
  const created: Checkout[] = [];
  try {
    const amount = random.pick([random.between(1, 600), random.between(1, 6_000), 20_000]);
    const payments = providerOf(scene, world, created);
    await createTopup(accountId, amount, contextOf(scene, world, accountId), { payments, publicUrl: "http://here" });
  } catch (error) {
    // The product may not have stored these checkouts. The provider has them, so a payer can pay them.
    for (const checkout of created) checkout.given = true;
    throw error;
  }
};

/** Posts to a wallet. If the answer is `insufficient_funds`, the money was too little at some moment of the call. */
async function post(scene: Scene, world: World, accountId: string, posting: Posting): Promise<void> {
  const amount = "amount" in posting ? (posting.amount ?? 0) : 0;
  let wasShort = false;
  const unwatch = world.watch(() => {
    const balance = world.peek(balanceKey(walletOf(accountId), "wallet"));
    wasShort ||= availableOf(balance ? Balance.parse(balance) : emptyBalance) < amount;
  });
  try {
    await committer(
      scene,
      world,
      accountId,
    )(async () => {
      const plan = await planWallet(world.table, accountId, [posting], nowOf(scene, world)());
      return { value: plan.done, writes: plan.writes, changes: plan.changes };
    });
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "insufficient_funds") throw error;
    mustHold(wasShort, () => `refused ${amount} and had it all the time`);
    world.note("learns: insufficient funds");
  } finally {
    unwatch();
  }
}

const purchase = (id: string, amount: number) =>
  ({ id, debit: "wallet", credit: "revenue", amount, code: "purchase", type: "purchase", description: "It" }) as const;

const amountOf = (random: Random): number => random.pick([random.between(1, 90), random.between(1, 900)]);

export const spend: Act = (scene, world, random, accountId) =>
  post(scene, world, accountId, { kind: "transfer", ...purchase(newId(scene, "spend"), amountOf(random)) });

/** Moves the customer to another country, so that another VAT applies from then on. */
const move: Act = async (scene, world, random, accountId) => {
  const country = random.pick(["IE", "DE", "FI", "US", null]);
  await updateProfile(accountId, { country }, contextOf(scene, world, accountId), undefined);
};

const hold: Act = async (scene, world, random, accountId) => {
  const id = newId(scene, "hold");
  scene.holds.push({ accountId, id });
  const expiresAt = new Date(nowOf(scene, world)().getTime() + random.between(1, 5 * dayMs)).toISOString();
  const rule = await readVatRule(world.table, accountId, nowOf(scene, world)());
  const bought = { id, price: amountOf(random), currency: currencyOf(accountId), code: "purchase", description: "It" };
  return post(scene, world, accountId, { ...purchaseHold(bought, rule), expiresAt });
};

const resolve: Act = async (scene, world, random) => {
  if (scene.holds.length === 0) return;
  const { id, accountId } = random.pick(scene.holds.slice(-4));
  const kind = random.pick(["capture", "void", "expire"] as const);
  await post(scene, world, accountId, { kind, id });
};

const change: Act = (scene, world, random, accountId) => {
  const today = dayOf(nowOf(scene, world)());
  const effective = random.chance(0.5) ? undefined : plusDays(today, random.between(0, 40));
  const target = random.pick(Object.keys(plans).map((id) => PlanId.parse(id)));
  return changePlan(accountId, target, effective, contextOf(scene, world, accountId));
};

const cancel: Act = (scene, world, random, accountId) =>
  cancelPlan(accountId, random.chance(0.5), contextOf(scene, world, accountId));

const use: Act = async (scene, world, random, accountId) => {
  const sent = sentKey(accountId, plusDays(yesterdayOf(scene, world), random.between(0, 1)));
  await world.table.attempt({ update: sent, add: { count: random.between(1, 5_000) } });
  const what = scene.hasIps && random.chance(0.3) ? "dedicated_ips" : "mailboxes";
  await addUsage(world.table, accountId, { [what]: random.between(1, 3) });
};

const operate: Act = (scene, world, random, accountId) =>
  setAccountStatus(world.table, accountId, random.pick(["suspended", "active"]), nowOf(scene, world)());

const read: Act = async (scene, world, _, accountId) => {
  const context = contextOf(scene, world, accountId);
  const { balance } = await walletBalance(accountId, context);
  mustHold(!balance.startsWith("-"), () => `the balance is ${balance}`);
  const { items, total } = await listTransactions(accountId, { page: 1, page_size: 5, order: "desc" }, context);
  mustHold(items.length === Math.min(5, total), () => `a page of ${items.length} of ${total} transactions`);
  await currentPlan(accountId, context);
};
