import { handlePayment } from "../../shared/billing/payments.ts";
import type { Table } from "../../shared/table/table.ts";
import { currencyOf, newId, silent, type Scene } from "./billing-scene.ts";
import type { World } from "./world.ts";

/** The world before a schedule begins: nothing fails in it, and nobody looks. */
export const worldBefore = (table: Table, now: Date, peek: World["peek"]): World => ({
  table,
  now: () => now,
  pause: async () => undefined,
  peek,
  watch: () => () => undefined,
  note: () => undefined,
});

/** Money that was paid before anybody looked; the provider tells of it. */
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
