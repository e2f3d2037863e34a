import { type CostPreview, previewCosts } from "../../billing/preview.ts";
import type { Context } from "../../http/route.ts";
import { readVatRule } from "../../wallet/vat.ts";
import { readWallet } from "../../wallet/wallet.ts";
import { readBuyers } from "../holder.ts";
import { NameTaken, type Wanted } from "./buy.ts";
import { priceOrder, totalCharge, type Order } from "./order.ts";
import { boughtAs, orderAnswer, result, type OrderAnswer } from "./results.ts";

/**
 * The answer that `placeOrder` would give now, with its costs. Buys nothing, and opens no checkout. If the wallet does
 * not cover all names, the names are `payment_required`, without a payment URL. `toAnswer` gives the answer the form of
 * the route. Throws as `priceOrder` does.
 */
export async function previewOrder<Answer>(
  order: Order,
  toAnswer: (answer: OrderAnswer & { preview: CostPreview }) => Answer,
  context: Context,
): Promise<Answer> {
  const { kind, accountId, names } = order;
  const { results, earlier, wanted, agreed, own } = await priceOrder(order, context);
  const [{ available }, rule] = await Promise.all([
    readWallet(context.table, accountId),
    readVatRule(context.table, accountId, context.now()),
  ]);
  const isCovered = totalCharge(agreed, rule) <= available;
  // If the wallet does not cover the names, an order buys them only after the payment. So the present obstacles do not
  // count.
  const obstacles = isCovered ? await obstaclesOf(order, agreed, own, context) : new Map<string, NameTaken["code"]>();
  const status = isCovered ? boughtAs[kind.type] : "payment_required";
  for (const { name } of agreed) {
    const code = obstacles.get(name);
    results.set(name, code ? result("failed", null, code) : result(status));
  }
  const held = totalCharge(
    agreed.filter(({ name }) => !obstacles.has(name)),
    rule,
  );
  const about = { bought: boughtAs[kind.type], wanted: [...earlier, ...wanted], batchId: null, paymentUrl: null, rule };
  const preview = await previewCosts(accountId, { held }, context);
  const value = toAnswer({ ...orderAnswer(names, results, about), preview });
  return context.commit(async () => ({ value, writes: [], changes: [] }));
}

/** The names that could not be bought now, with the reasons. */
async function obstaclesOf(
  { kind, accountId, batchId, request: { workspace_id: workspaceId } }: Order,
  wanted: readonly Wanted[],
  own: ReadonlyMap<string, { status: string }>,
  { table, now }: Context,
): Promise<Map<string, NameTaken["code"]>> {
  const place = { accountId, workspaceId, batchId, now: now() };
  const buyers = await readBuyers(
    table,
    wanted.map(({ name }) => name),
  );
  const found = wanted.map(async (one, index): Promise<[string, NameTaken["code"]][]> => {
    const buyer = buyers[index];
    if (buyer && !buyer.isOver) return [[one.name, "domain_taken"]];
    // The order replaces a failed domain, so such a domain is no obstacle.
    if (own.get(one.name)?.status === "failed") return [];
    try {
      await kind.plan(table, place, [one]);
      return [];
    } catch (error) {
      if (error instanceof NameTaken) return [[one.name, error.code]];
      throw error;
    }
  });
  return new Map((await Promise.all(found)).flat());
}
