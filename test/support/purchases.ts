import { type StoredDomain, batchQueue } from "../../shared/domains/domain.ts";
import { continueBatch } from "../../shared/domains/purchase/continue-batch.ts";
import type { DomainWork } from "../../shared/domains/setup/work.ts";
import { getStoredCheckout } from "../../shared/providers/payments/embedded.ts";
import { readDue } from "../../shared/table/due.ts";
import { readWallet } from "../../shared/wallet/wallet.ts";
import { billing, tellPayment } from "./billing.ts";
import { advance, storedAs, workAt } from "./domain-work.ts";
import { funded } from "./domains.ts";
import { request } from "./request.ts";
import { newAccount, testTable, type Account } from "./world.ts";

/** A new account with `amount` minor units in its wallet. */
export const buyer = async (amount = 100_000): Promise<Account> => funded(await newAccount(), amount);

/** The balance of the wallet, and its free part, in minor units. */
export async function wallet({ id }: Pick<Account, "id">): Promise<{ posted: number; available: number }> {
  const { posted, available } = await readWallet(testTable(), id);
  return { posted, available };
}

/** The wallet's transactions as its owner sees them, in short form, the oldest first. */
export async function transactions(account: Account): Promise<string[]> {
  const { body } = await billing(account, "GET", "transactions?page_size=100");
  const items: { type: string; status: string; amount: string; description: string }[] = body.items;
  return items.map((one) => `${one.type} ${one.status} ${one.amount} ${one.description}`).toReversed();
}

/** The types of the account's audit entries as its owner sees them, the oldest first. */
export async function happened({ id, owner }: Account): Promise<string[]> {
  const { body } = await request("GET", `/v1/public/accounts/${id}/audit-log?page_size=100`, { token: owner.token });
  return (body.items as { event_type: string }[]).map(({ event_type }) => event_type).toReversed();
}

/** Runs the worker for a name at each due time, until the name's registration is over. */
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

/** Pays the checkout at an address, and sends the payment provider's event. */
export async function pay(account: Account, paymentUrl: string): Promise<void> {
  const checkoutId = paymentUrl.split("/").at(-1) ?? "";
  const { reference, amount } = await getStoredCheckout(testTable(), checkoutId);
  const answer = await tellPayment(account, { checkoutId, reference, cents: amount });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** The purchases of an account whose payment has arrived, with their due times. */
export async function batchesDue({ id }: Pick<Account, "id">): Promise<{ batchId: string; at: string }[]> {
  const shards = await readDue(testTable(), batchQueue, new Date(Date.now() + 60_000));
  return shards
    .flat()
    .flatMap(({ at, subject: [accountId, batchId = ""] }) => (accountId === id ? [{ batchId, at }] : []));
}

/** Runs the worker for the purchases of an account whose payment has arrived. */
export async function continued(account: Pick<Account, "id">, others: Partial<DomainWork> = {}): Promise<void> {
  for (const { batchId, at } of await batchesDue(account)) {
    await continueBatch(account.id, batchId, at, workAt(new Date(), others));
  }
}
