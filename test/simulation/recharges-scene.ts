import { rechargeQueue } from "../../shared/billing/recharges/payment-method.ts";
import type { RechargeContext } from "../../shared/billing/recharges/recharge.ts";
import { Problem } from "../../shared/core/errors.ts";
import type {
  CardSetupState,
  ChargeInput,
  ChargeState,
  DisputeEvent,
  Payments,
  ProviderEvent,
  Refund,
} from "../../shared/providers/payments/payments.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Item } from "../../shared/table/writes.ts";
import { newId, nowOf, providerOf, silent, type Scene } from "./billing-scene.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/**
 * Promises that the provider breaks: a repeated request charges the card again, an ended page can still be paid, or a
 * failed refund gets another id.
 */
export const chargeMistakes = ["charge-without-key", "page-goes-on", "refund-renamed"] as const;
export type ChargeMistake = (typeof chargeMistakes)[number];

export type Charge = ChargeState & { id: string };
export type Dispute = Pick<DisputeEvent, "disputeId" | "paymentId" | "accountId" | "amount" | "status">;

/** The state that all actors of a schedule share: checkouts, saved cards, charges, refunds and disputes. */
export type RechargeScene = Scene & {
  chance: Random;
  setups: (CardSetupState & { customerId: string })[];
  removed: Set<string>;
  charges: Charge[];
  /** The refunds of each payment, oldest first. */
  refunds: Map<string, { accountId: string; all: Refund[] }>;
  disputes: Dispute[];
  /**
   * The events of the provider, without the events of checkouts. An event can be lost only if the product also asks
   * about its subject.
   */
  told: { event: ProviderEvent; isKnown: boolean; isLost: boolean }[];
  /** Whether the bank accepts every charge from now on. */
  isCalm: boolean;
  chargeMistake: ChargeMistake | undefined;
};

/** Adds an event that the provider sends. With `canBeLost`, the event is lost with a probability of 0.3. */
export function tell(scene: RechargeScene, event: ProviderEvent, canBeLost = false): void {
  const isLost = canBeLost && scene.chance.chance(0.3);
  scene.told.push({ event, isKnown: isLost, isLost });
}

/** Adds an event with the present state of a charge. */
export function tellCharge(scene: RechargeScene, charge: Charge): void {
  const { id: chargeId, reference, accountId, amount, currency, status } = charge;
  const isSucceeded = status === "succeeded";
  const id = newId(scene, "event");
  tell(scene, { id, type: "charge", chargeId, reference, accountId, amount, currency, isSucceeded }, true);
}

function decide({ chance, isCalm }: RechargeScene): Pick<Charge, "status" | "reason"> {
  if (isCalm || chance.chance(0.6)) return { status: "succeeded" };
  return chance.pick<Pick<Charge, "status" | "reason">>([
    { status: "processing" },
    { status: "failed", reason: "The bank declined the payment." },
    { status: "failed", reason: "The bank declined the payment." },
    { status: "action_required", reason: "The bank wants you to confirm the payment." },
    { status: "action_required", reason: "The bank wants you to confirm the payment." },
  ]);
}

function chargeOnce(scene: RechargeScene, { reference, accountId, amount, currency, cardId }: ChargeInput): Charge {
  const known = scene.charges.find((one) => one.reference === reference);
  if (known && scene.chargeMistake !== "charge-without-key") return known;
  const outcome = scene.removed.has(cardId) ? { status: "failed" as const, reason: "No card." } : decide(scene);
  const charge: Charge = { id: newId(scene, "charge"), reference, accountId, amount, currency, ...outcome };
  scene.charges.push(charge);
  tellCharge(scene, charge);
  return charge;
}

const missing = (): Problem => new Problem("not_found", "There is no such thing.");

/** The part of the provider with the payment pages. With the planted mistake, no page ends. */
export function payingOf(scene: RechargeScene, world: World): Payments {
  const payments = providerOf(scene, world, []);
  if (scene.chargeMistake !== "page-goes-on") return payments;
  return { ...payments, expireCheckout: () => world.pause("provider: expires nothing") };
}

/** The payment provider. An answer can come late. An answer can also be lost after the provider has acted. */
export const cardsOf = (scene: RechargeScene, world: World): Payments => ({
  ...payingOf(scene, world),
  createCustomer: async ({ accountId }) => {
    await world.pause("provider: customer");
    return `customer-${accountId}`;
  },
  createCardSetup: async ({ reference, accountId, customerId, expiresAt }) => {
    await world.pause("provider: setup");
    const id = newId(scene, "setup");
    scene.setups.push({ id, status: "open", reference, accountId, customerId });
    await world.pause("provider: set up");
    return { id, url: `https://pay.example.com/${id}`, expiresAt };
  },
  getCardSetup: async (id) => {
    await world.pause("provider: asked about a setup");
    const setup = scene.setups.find((one) => one.id === id);
    if (!setup) throw missing();
    return { ...setup };
  },
  removeCard: async (id) => {
    await world.pause("provider: remove");
    scene.removed.add(id);
  },
  charge: async (input) => {
    await world.pause("provider: charge");
    const charge = { ...chargeOnce(scene, input) };
    await world.pause("provider: charged");
    return charge;
  },
  getCharge: async (id) => {
    await world.pause("provider: asked about a charge");
    const charge = scene.charges.find((one) => one.id === id);
    if (!charge) throw missing();
    return { ...charge };
  },
});

/** The table without the due recharges of other modules. */
const withOwnTasks = ({ accounts }: Scene, table: Table): Table => ({
  ...table,
  between: async (partition, ...range) => {
    const items = await table.between(partition, ...range);
    const isOwn = ({ SK }: Item): boolean => SK.split("#").some((part) => accounts.includes(part));
    return partition.startsWith(`${rechargeQueue.name}#`) ? items.filter(isOwn) : items;
  },
});

export const rechargingOf = (scene: RechargeScene, world: World): RechargeContext => ({
  table: withOwnTasks(scene, world.table),
  now: nowOf(scene, world),
  log: silent,
  payments: cardsOf(scene, world),
  publicUrl: "http://here",
});
