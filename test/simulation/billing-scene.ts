import { noPermissions } from "../../shared/auth/permissions.ts";
import { plusDays, dayOf, type Day } from "../../shared/billing/days.ts";
import { topupKey } from "../../shared/billing/topup.ts";
import { recorder, type Commit } from "../../shared/changes/recorder.ts";
import { Problem } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Payments, PaymentEvent } from "../../shared/providers/payments.ts";
import type { Context } from "../../shared/route.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A checkout at the payment provider; `given` is whether a payer can have its address. */
export type Checkout = { id: string; reference: string; accountId: string; amount: number; given: boolean };

/** What all actors of a schedule share: the accounts, the calendar, and all that is at the payment provider. */
export type Scene = {
  accounts: readonly string[];
  /** How far the calendar is ahead of the simulator's clock. */
  aheadMs: number;
  checkouts: Checkout[];
  /** What the provider tells; `isKnown` once it was answered, which is when it stops to repeat it. */
  events: { event: PaymentEvent; isKnown: boolean }[];
  holds: { accountId: string; id: string }[];
  ids: number;
};

export const dayMs = 86_400_000;

export const nowOf =
  (scene: Scene, { now }: Pick<World, "now">) =>
  (): Date =>
    new Date(now().getTime() + scene.aheadMs);

export const yesterdayOf = (scene: Scene, world: World): Day => plusDays(dayOf(nowOf(scene, world)()), -1);

export const newId = (scene: Scene, kind: string): string => `${kind}-${(scene.ids += 1)}`;

export const silent: Log = { debug: () => undefined, info: () => undefined, error: () => undefined };

export const committer = (scene: Scene, world: World, accountId: string): Commit =>
  recorder({
    table: world.table,
    accountId,
    author: { action: "simulated", actor: { type: "user", id: "somebody" }, requestId: newId(scene, "request") },
    now: nowOf(scene, world),
  });

/** What a route hands to its `run`. */
export const contextOf = (scene: Scene, world: World, accountId: string): Context => ({
  principal: { type: "user", id: "somebody", email: "somebody@example.com", groups: [] },
  permissions: { ...noPermissions, member: true, everything: true },
  requestId: newId(scene, "request"),
  table: world.table,
  commit: committer(scene, world, accountId),
  answer: async (value) => value,
  log: silent,
  now: nowOf(scene, world),
});

/** The payment provider, which answers late, or not at all and has done it nevertheless. */
export const providerOf = (scene: Scene, world: World, created: Checkout[]): Payments => ({
  createCheckout: async ({ reference, accountId, amount, expiresAt }) => {
    await world.pause("provider: create");
    const id = newId(scene, "checkout");
    const checkout = { id, reference, accountId, amount, given: false };
    scene.checkouts.push(checkout);
    created.push(checkout);
    await world.pause("provider: created");
    return { id, url: `https://pay.example.com/${id}`, expiresAt };
  },
  readEvent: async () => undefined,
  getCheckout: async () => {
    throw new Problem("not_found", "Nobody asks for it.");
  },
});

/** A payer does something on the page of a checkout, and the provider has something to tell. */
export function visitCheckout(scene: Scene, world: World, random: Random): void {
  const open = scene.checkouts.filter(
    ({ accountId, reference, given }) => given || world.peek(topupKey(accountId, reference)) !== undefined,
  );
  if (open.length === 0) return;
  const { id, ...checkout } = random.pick(open.slice(-2));
  const type = random.weighted([
    { type: "paid" as const, weight: 6 },
    { type: "failed" as const, weight: 2 },
    { type: "expired" as const, weight: 2 },
  ]).type;
  const wasPaid = scene.events.some(({ event }) => event.checkoutId === id && event.type === "paid");
  // A second event of one payment has another id; one in a hundred says another amount, which must not count.
  const amount = checkout.amount + (wasPaid && random.chance(0.3) ? 1 : 0);
  const event: PaymentEvent = {
    id: newId(scene, "event"),
    type,
    checkoutId: id,
    reference: checkout.reference,
    accountId: checkout.accountId,
    amount,
    currency: "USD",
    at: nowOf(scene, world)(),
  };
  scene.events.push({ event, isKnown: false });
  world.note(`provider: ${type} ${id} ${amount}`);
}
