import { type StoredDomain, batchQueue } from "../../shared/domains/domain.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { getStored } from "../../shared/providers/payments/embedded.ts";
import { readDue } from "../../shared/table/due.ts";
import { readWallet } from "../../shared/wallet/wallet.ts";
import { billing, tellPayment } from "./billing.ts";
import { advance, storedAs, workAt } from "./domain-work.ts";
import { funded } from "./domains.ts";
import { request } from "./request.ts";
import { newAccount, testTable, type Account } from "./world.ts";

/** A new account with money in its wallet: minor units. */
export const buyer = async (amount = 100_000): Promise<Account> => funded(await newAccount(), amount);

/** What the wallet holds, and what of it is free: minor units. */
export async function wallet({ id }: Pick<Account, "id">): Promise<{ posted: number; available: number }> {
  const { posted, available } = await readWallet(testTable(), id);
  return { posted, available };
}

/** The wallet's transactions as its owner sees them, the oldest first, in short. */
export async function transactions(account: Account): Promise<string[]> {
  const { body } = await billing(account, "GET", "transactions?page_size=100");
  const items: { type: string; status: string; amount: string; description: string }[] = body.items;
  return items.map((one) => `${one.type} ${one.status} ${one.amount} ${one.description}`).toReversed();
}

/** The types of what the account's owner is told has happened, the oldest first. */
export async function happened({ id, owner }: Account): Promise<string[]> {
  const { body } = await request("GET", `/v1/public/accounts/${id}/audit-log?page_size=100`, { token: owner.token });
  return (body.items as { event_type: string }[]).map(({ event_type }) => event_type).toReversed();
}

/** Has the worker go on with a name, each time at the moment it is due, until it is not being registered any more. */
export async function registered(
  account: Account,
  name: string,
  others: Partial<DomainWork> = {},
): Promise<StoredDomain> {
  for (let times = 0; times < 20; times++) {
    const domain = await storedAs(account, name);
    if (domain.status !== "pending_registration") return domain;
    await advance(account, name, others);
  }
  throw new Error(`${name} is still being registered`);
}

/** Pays the checkout at an address, as the payment provider tells it. */
export async function pay(account: Account, paymentUrl: string): Promise<void> {
  const checkoutId = paymentUrl.split("/").at(-1) ?? "";
  const { reference, amount } = await getStored(testTable(), checkoutId);
  const answer = await tellPayment(account, { checkoutId, reference, cents: amount });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** The purchases of an account whose payment has arrived, and since when they are due. */
export async function batchesDue({ id }: Pick<Account, "id">): Promise<{ batchId: string; at: string }[]> {
  const shards = await readDue(testTable(), batchQueue, new Date(Date.now() + 60_000));
  return shards
    .flat()
    .flatMap(({ at, subject: [accountId, batchId = ""] }) => (accountId === id ? [{ batchId, at }] : []));
}

/** Has the worker go on with the purchases of an account whose payment has arrived. */
export async function continued(account: Pick<Account, "id">, others: Partial<DomainWork> = {}): Promise<void> {
  for (const { batchId, at } of await batchesDue(account)) {
    await continueBatch(account.id, batchId, at, workAt(new Date(), others));
  }
}
