import { Problem } from "../../core/errors.ts";
import type { Context } from "../../http/route.ts";
import type { Write } from "../../table/writes.ts";
import { type Checkouts, openTopup } from "../../wallet/topup.ts";
import { readWallet } from "../../wallet/wallet.ts";
import { type StoredBatch, batchItem, getBatch } from "./batch.ts";
import type { Wanted } from "./buy.ts";
import { type Purchase, type Result, result } from "./purchase-view.ts";

/** Payment providers take no smaller amounts. */
const leastCheckout = 100;

export type Order = { accountId: string; batchId: string; purchase: Purchase };
/** What came of each name so far. */
export type Outcomes = Map<string, Omit<Result, "domain_name">>;

export const totalOf = (names: readonly Wanted[]): number => names.reduce((sum, { price }) => sum + price, 0);

/**
 * Opens a checkout over what the wallet is short of for names that wait for it; nothing is held for them. Undefined when
 * none does, and when there is no checkout to be had now, if other names are bought: their buyer has to learn of that.
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
  const missing = Math.max(totalOf(short) - available, leastCheckout);
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

/** The write that has names wait for their payment, beside those that the batch has bought. */
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

/** A batch of which nothing is known yet but who registers. */
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
