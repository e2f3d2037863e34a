import { noPermissions } from "../../shared/auth/permissions.ts";
import { askedForMs, type AskContext } from "../../shared/billing/ask.ts";
import { billingQueue, lastClosable } from "../../shared/billing/due.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { runDailyTasks } from "../../shared/billing/run.ts";
import { sweepBilling } from "../../shared/billing/sweep.ts";
import { recorder, type Commit } from "../../shared/changes/recorder.ts";
import { Problem } from "../../shared/core/errors.ts";
import { createLog } from "../../shared/core/log.ts";
import { plusDays, dayOf, type Day } from "../../shared/core/time.ts";
import type { InvocationContext } from "../../shared/http/invoke.ts";
import type { Context } from "../../shared/http/route.ts";
import type { Payments, PaymentEvent } from "../../shared/providers/payments/payments.ts";
import { dueKey, readDue } from "../../shared/table/due.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Item } from "../../shared/table/writes.ts";
import { checkoutQueue, topupKey } from "../../shared/wallet/topup.ts";
import { noCards } from "../support/no-cards.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A checkout at the payment provider. `given` says whether a payer can have its address. `stands` is its status. */
export type Checkout = {
  id: string;
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  given: boolean;
  stands: "open" | "processing" | "paid" | "expired";
};

/** Mistakes in asking about checkouts: nobody asks, or the credit gets another id. */
export const askingMistakes = ["nobody-asks", "asked-by-another-id"] as const;
export type AskingMistake = (typeof askingMistakes)[number];

/**
 * The state that all actors of a schedule share: the accounts, the calendar, and everything at the payment provider.
 */
export type Scene = {
  accounts: readonly string[];
  /** The time by which the calendar is ahead of the simulator's clock. */
  aheadMs: number;
  checkouts: Checkout[];
  /**
   * The events of the provider. `isKnown` is true if the product has answered the event, or if the event is lost. The
   * end of the schedule delivers the other events first.
   */
  events: { event: PaymentEvent; isKnown: boolean; isLost?: boolean }[];
  /** Whether accounts get managed IPs. */
  hasIps?: boolean;
  askingMistake?: AskingMistake | undefined;
  /**
   * Mistakes in closing days:
   * - `forgotten-day` removes an account from the queue of days in a write of its own, before the days are closed.
   * - `default-currency` closes the days of every account in the default currency.
   */
  closingMistake?: "forgotten-day" | "default-currency" | undefined;
  holds: { accountId: string; id: string }[];
  ids: number;
};

/** The prices of accounts in EUR. They differ from the prices in USD. */
export const euroPrices = {
  from: "2020-01-01",
  currency: "EUR",
  plans: {
    per_mailbox: { minimum: 430, mailbox: 270, dedicatedIp: 2_100, sentMails: 3 },
    per_dedicated_ip: { minimum: 70, mailbox: 10, dedicatedIp: 8_900, sentMails: 30 },
  },
};

/** The currency of an account of a scene. */
export const currencyOf = (accountId: string): string => (accountId.startsWith("b") ? "EUR" : "USD");

export const dayMs = 86_400_000;

export const nowOf =
  (scene: Scene, { now }: Pick<World, "now">) =>
  (): Date =>
    new Date(now().getTime() + scene.aheadMs);

export const yesterdayOf = (scene: Scene, world: World): Day => plusDays(dayOf(nowOf(scene, world)()), -1);

export const newId = (scene: Scene, kind: string): string => `${kind}-${(scene.ids += 1)}`;

export const silent = createLog("silent", {});

export const committer = (scene: Scene, world: World, accountId: string): Commit =>
  recorder({
    table: world.table,
    accountId,
    author: { action: "simulated", actor: { type: "user", id: "somebody" }, requestId: newId(scene, "request") },
    now: nowOf(scene, world),
  });

/** The context that a route gives to its `run`. */
export const contextOf = (scene: Scene, world: World, accountId: string): Context => ({
  principal: { type: "user", id: "somebody", email: "somebody@example.com", groups: [] },
  permissions: { ...noPermissions, member: true, everything: true },
  requestId: newId(scene, "request"),
  table: world.table,
  commit: committer(scene, world, accountId),
  answer: async (value) => value,
  chargeClass: async () => undefined,
  log: silent,
  now: nowOf(scene, world),
});

/** The context that an entry point gives to `invoke` for a call by the owner of an account. */
export const invocationOf = (scene: Scene, world: World, accountId: string): InvocationContext => ({
  table: world.table,
  now: nowOf(scene, world),
  log: silent,
  requestId: newId(scene, "request"),
  authenticate: async () => ({ type: "user", id: accountId, email: "somebody@example.com", groups: [] }),
  charge: async () => undefined,
  isRefused: () => false,
  reserve: async () => ({ isOwn: false, settle: async () => undefined }),
});

/** The payment provider. An answer can come late. An answer can also be lost after the provider has acted. */
export const providerOf = (scene: Scene, world: World, created: Checkout[]): Payments => ({
  createCheckout: async ({ reference, accountId, amount, currency, expiresAt }) => {
    await world.pause("provider: create");
    const id = newId(scene, "checkout");
    const checkout: Checkout = { id, reference, accountId, amount, currency, given: false, stands: "open" };
    scene.checkouts.push(checkout);
    created.push(checkout);
    await world.pause("provider: created");
    return { id, url: `https://pay.example.com/${id}`, expiresAt };
  },
  readEvent: async () => undefined,
  getCheckout: async (id) => {
    await world.pause("provider: asked");
    const checkout = scene.checkouts.find((one) => one.id === id);
    if (!checkout) throw new Problem("not_found", "There is no such checkout.");
    const { reference, accountId, amount, currency, stands: status } = checkout;
    await world.pause("provider: answers");
    return { id, status, reference, accountId, amount, currency, expiresAt: nowOf(scene, world)() };
  },
  ...noCards,
  expireCheckout: async (id) => {
    await world.pause("provider: expire");
    const checkout = scene.checkouts.find((one) => one.id === id);
    if (!checkout) throw new Problem("not_found", "There is no such checkout.");
    if (checkout.stands === "open") checkout.stands = "expired";
    await world.pause("provider: expired");
  },
});

/**
 * The table without the due checkouts of other modules. Other modules have another calendar and another provider.
 */
const withOwnCheckouts = ({ accounts }: Scene, table: Table): Table => ({
  ...table,
  between: async (partition, ...range) => {
    const items = await table.between(partition, ...range);
    const isOwn = ({ SK }: Item): boolean => SK.split("#").some((part) => accounts.includes(part));
    return partition.startsWith(`${checkoutQueue.name}#`) ? items.filter(isOwn) : items;
  },
});

/** The table with the queue of this scene's accounts only. Other modules have another calendar. */
const withOwnClosings = ({ accounts }: Scene, table: Table): Table => ({
  ...table,
  between: async (partition, ...range) => {
    const items = await table.between(partition, ...range);
    const isOwn = ({ SK }: Item): boolean => accounts.some((id) => SK.endsWith(`#${id}`));
    return partition.startsWith(`${billingQueue.name}#`) ? items.filter(isOwn) : items;
  },
});

/** The table, but an account that is read by its key, in the batches of a closing, has no currency. */
const withoutCurrencies = (table: Table): Table => ({
  ...table,
  getMany: async (keys) => {
    const items = await table.getMany(keys);
    return items.map((item) => {
      if (item?.SK !== "ACCOUNT") return item;
      const { currency: _, ...rest } = item;
      return rest;
    });
  },
});

/** Runs the worker over all shards, with the mistake that is planted (`closingMistake`). */
export async function sweepDays(scene: Scene, world: World): Promise<void> {
  const own = withOwnClosings(scene, world.table);
  const table = scene.closingMistake === "default-currency" ? withoutCurrencies(own) : own;
  const now = nowOf(scene, world);
  if (scene.closingMistake === "forgotten-day") await forgetDays(table, now());
  const results = await sweepBilling({ table, now, log: silent, requestId: newId(scene, "run") });
  const sum = (member: "closed" | "failed"): number => results.reduce((total, result) => total + result[member], 0);
  world.note(`closed ${sum("closed")} accounts, ${sum("failed")} failed`);
}

async function forgetDays(table: Table, now: Date): Promise<void> {
  for (const { at, subject } of (await readDue(table, billingQueue, now)).flat()) {
    await table.attempt({ delete: dueKey(billingQueue, [subject[0] ?? ""], at) });
    await runDailyTasks(subject[0] ?? "", lastClosable(now), { table, now: () => now, requestId: "forgetful" });
  }
}

/** The context in which a worker asks about checkouts. With the planted mistake, the credit gets another id. */
export function askingOf(scene: Scene, world: World): AskContext {
  const payments = providerOf(scene, world, []);
  const work = { table: withOwnCheckouts(scene, world.table), now: nowOf(scene, world), log: silent };
  if (scene.askingMistake !== "asked-by-another-id") return { ...work, payments };
  return {
    ...work,
    payments: {
      ...payments,
      getCheckout: async (id) => {
        const state = await payments.getCheckout(id);
        const told = { ...state, checkoutId: `asked-${id}`, type: "paid" as const, id: `asked/${id}`, at: work.now() };
        if (state.status === "paid") await handlePayment(told, work);
        return state;
      },
    },
  };
}

/**
 * Whether the webhook of a checkout is lost. A webhook is lost only while the product still asks about its checkout.
 */
function isLost({ accountId, reference, stands }: Checkout, scene: Scene, world: World, random: Random): boolean {
  const topup = world.peek(topupKey(accountId, reference));
  const ageMs = nowOf(scene, world)().getTime() - Date.parse(String(topup?.["created_at"]));
  return topup !== undefined && ageMs < askedForMs && stands === "open" && random.chance(0.3);
}

/** Lets a payer act on the page of a checkout. The provider then sends an event. */
export function visitCheckout(scene: Scene, world: World, random: Random): void {
  const open = scene.checkouts.filter(
    ({ accountId, reference, given }) => given || world.peek(topupKey(accountId, reference)) !== undefined,
  );
  if (open.length === 0) return;
  const checkout = random.pick(open.slice(-2));
  const { id } = checkout;
  const ofIt = scene.events.filter(({ event }) => event.checkoutId === id);
  const wasPaid = ofIt.some(({ event }) => event.type === "paid");
  const drawn = random.weighted([
    { type: "paid" as const, weight: 6 },
    { type: "failed" as const, weight: 2 },
    { type: "expired" as const, weight: 2 },
  ]).type;
  // After a lost payment, the next event is a payment too. Another event would make the product stop asking.
  const type = wasPaid && ofIt.every(({ isLost }) => isLost) ? "paid" : drawn;
  const lost = isLost(checkout, scene, world, random);
  if (checkout.stands !== "paid")
    checkout.stands = ({ paid: "paid", failed: "processing", expired: "expired" } as const)[type];
  // A second event of a payment has another id. Its amount can differ, and must not count.
  const amount = checkout.amount + (wasPaid && random.chance(0.3) ? 1 : 0);
  const event: PaymentEvent = {
    id: newId(scene, "event"),
    type,
    checkoutId: id,
    reference: checkout.reference,
    accountId: checkout.accountId,
    amount,
    currency: checkout.currency,
    at: nowOf(scene, world)(),
  };
  scene.events.push({ event, isKnown: lost, isLost: lost });
  world.note(`provider: ${type} ${id} ${amount}${lost ? ", and tells nobody" : ""}`);
}
