import { Problem } from "../../core/errors.ts";
import type { Context } from "../../http/route.ts";
import type { Write } from "../../table/writes.ts";
import { type Checkouts, openTopup } from "../../wallet/topup.ts";
import { readWallet } from "../../wallet/wallet.ts";
import { type StoredBatch, batchItem, getBatch } from "./batch.ts";
import type { Wanted } from "./buy.ts";
import { type Purchase, type Result, result } from "./purchase-view.ts";

/** The least amount of a checkout, in minor units: payment providers accept no less. */
const leastCheckout = 100;

export type Order = { accountId: string; batchId: string; purchase: Purchase };
/** The result of each name so far. */
export type Outcomes = Map<string, Omit<Result, "domain_name">>;

export const totalPrice = (names: readonly Wanted[]): number => names.reduce((sum, { price }) => sum + price, 0);

/**
 * Opens a checkout for the amount that the wallet lacks for `short`; these names are not held.
 * - Undefined when no name needs it.
 * - If the payment provider is unavailable (503) and other names are bought, these names fail and the result is
 *   undefined, so that the buyer still gets an answer about the others.
 */
export async function checkoutFor(
  { accountId, batchId }: Order,
  short: readonly Wanted[],
  outcomes: Outcomes,
  context: Context,
  checkouts: () => Checkouts,
): Promise<Awaited<ReturnType<typeof openTopup>> | undefined> {
  if (short.length === 0) return undefined;
  const { available } = await readWallet(context.table, accountId);
  const missing = Math.max(totalPrice(short) - available, leastCheckout);
  const names = short.length === 1 ? "a domain" : `${short.length} domains`;
  const about = { batchId, description: `Wallet top-up for ${names}` };
  try {
    const opened = await openTopup(accountId, missing, context, checkouts(), about);
    for (const { name } of short) outcomes.set(name, result("payment_required"));
    return opened;
  } catch (error) {
    const isBought = [...outcomes.values()].some(({ status }) => status === "pending_registration");
    if (!isBought || !(error instanceof Problem) || error.status !== 503) throw error;
    for (const { name } of short) outcomes.set(name, result("failed", null, "insufficient_funds"));
    return undefined;
  }
}

/** The write that makes names of a batch wait for their payment. */
export async function waitingWrite(
  { accountId, batchId, purchase }: Order,
  waiting: readonly Wanted[],
  { table, now }: Context,
): Promise<Write> {
  const batch = await getBatch(table, accountId, batchId);
  const { version, ...rest } = batch ?? newBatch(accountId, batchId, purchase, now());
  return {
    put: batchItem({ ...rest, waiting: [...waiting], version: batch ? version + 1 : version }),
    if: batch ? { version } : "absent",
  };
}

/** A new batch, which has a contact and no waiting names. */
export const newBatch = (
  accountId: string,
  id: string,
  { workspace_id, contact_info }: Purchase,
  now: Date,
): StoredBatch => ({
  id,
  account_id: accountId,
  workspace_id,
  contact: contact_info,
  waiting: [],
  created_at: now.toISOString(),
  version: 1,
});
