import { handlePayment } from "../../shared/billing/payments.ts";
import type { Table } from "../../shared/table/table.ts";
import { currencyOf, newId, silent, type Scene } from "./billing-scene.ts";
import type { World } from "./world.ts";

/** The world in which a schedule is prepared. No call fails, and `watch` and `note` do nothing. */
export const worldBefore = (table: Table, now: Date, peek: World["peek"]): World => ({
  table,
  now: () => now,
  pause: async () => undefined,
  peek,
  watch: () => () => undefined,
  note: () => undefined,
});

/**
 * Pays money into the wallet of an account before the schedule begins. The provider has told the product of the
 * payment.
 */
export async function fund(
  scene: Scene,
  { table, now }: Pick<World, "table" | "now">,
  accountId: string,
  amount: number,
): Promise<void> {
  const event = {
    id: newId(scene, "event"),
    type: "paid" as const,
    checkoutId: newId(scene, "checkout"),
    reference: newId(scene, "reference"),
    accountId,
    amount,
    currency: currencyOf(accountId),
    at: now(),
  };
  scene.events.push({ event, isKnown: true });
  await handlePayment(event, { table, now, log: silent });
}
