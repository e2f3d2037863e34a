import { expect, test } from "vitest";

import { dayOf, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { continueBatch } from "../../../../shared/domains/purchase/continue-batch.ts";
import { registerElsewhere } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused, type Offer, type Registrar } from "../../../../shared/providers/registrar/registrar.ts";
import { newWorkspace } from "../../../support/auth.ts";
import { billing, closeDays, use } from "../../../support/billing.ts";
import { advance, storedAs, workAt } from "../../../support/domain-work.ts";
import { connected, domainsRequest, funded, purchase, readDomain, uniqueName } from "../../../support/domains.ts";
import { batchesDue, continued, pay, registered, wallet } from "../../../support/purchases.ts";
import { request } from "../../../support/request.ts";
import { nameElsewhere, transfer, transferred } from "../../../support/transfers.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

/**
 * A purchase of names whose payment has arrived. No worker has continued the purchase yet. `cents` is the money in the
 * wallet before the purchase.
 */
async function paidFor(names: string[], cents = 0) {
  const account = cents === 0 ? await newAccount() : await funded(await newAccount(), cents);
  const workspace_id = await newWorkspace(account, "Here");
  const { body } = await purchase(account, names, { workspace_id });
  await pay(account, body.payment_url);
  return { account, workspace_id, batchId: String(body.purchase_batch_id) };
}

/** The embedded registrar with changed offers. */
const offering = (change: (offer: Offer) => Offer): Registrar => {
  const registrar = embeddedRegistrar(testTable(), () => new Date());
  return { ...registrar, offer: async (name) => change(await registrar.offer(name)) };
};

const priced = (price: number): Registrar => offering((offer) => ({ ...offer, price }));
const silent = offering(({ name }) => ({ name, status: "unknown" }));

/** The error code of each name in the events of continued purchases. Null for a name that was bought. */
async function told({ id, owner }: Account): Promise<unknown[]> {
  const { body } = await request("GET", `/v1/public/accounts/${id}/audit-log?page_size=100`, { token: owner.token });
  const entries: { event_type: string; after: { results: { status: string; error_code: string | null }[] } }[] =
    body.items;
  const continuedOnes = entries.filter(({ event_type }) => event_type === "domain_purchase.continued");
  return continuedOnes.map(({ after }) => after.results.map(({ error_code }) => error_code));
}

const total = async (account: Account): Promise<number> => (await domainsRequest(account, "GET", "")).body.total;

test("names whose price has risen since the order are not bought, and their money stays in the wallet", async () => {
  const { account } = await paidFor([uniqueName(), uniqueName()]);
  await continued(account, { registrar: priced(1_401) });
  expect(await told(account)).toEqual([["quote_changed", "quote_changed"]]);
  expect([await total(account), await wallet(account)]).toEqual([0, { posted: 2_800, available: 2_800 }]);
  expect(await batchesDue(account)).toEqual([]);
});

test("the payment for a purchase pays open invoices first, and then the names", async () => {
  const account = await newAccount();
  await use(account, 1_000);
  await closeDays(account, plusDays(nextMonth(dayOf(new Date())), -1));
  const [invoice] = (await billing(account, "GET", "invoices")).body.items;
  expect(invoice.status).toBe("open");
  await pay(account, (await purchase(account, [uniqueName()])).body.payment_url);
  await continued(account);
  expect(await told(account)).toEqual([[null]]);
  expect((await wallet(account)).available).toBe(0);
  expect((await billing(account, "GET", "invoices")).body.items).toMatchObject([{ status: "paid" }]);
});

test("names whose price has fallen since the order are bought for the lower price", async () => {
  const { account } = await paidFor([uniqueName()]);
  await continued(account, { registrar: priced(900) });
  expect(await told(account)).toEqual([[null]]);
  expect(await wallet(account)).toEqual({ posted: 1_400, available: 500 });
});

test("if some of the money was spent meanwhile, the rest buys as many names as possible", async () => {
  const names = [uniqueName(), uniqueName(), uniqueName()];
  const { account } = await paidFor(names, 1_000);
  expect((await purchase(account, [uniqueName()])).body.successful_count).toBe(1);
  await continued(account);
  expect(await told(account)).toEqual([[null, null, "insufficient_funds"]]);
  expect([await total(account), await wallet(account)]).toEqual([3, { posted: 4_200, available: 0 }]);
});

test("a name that another account has bought or registered meanwhile is not bought", async () => {
  const [one, other, third] = [uniqueName(), uniqueName(), uniqueName()];
  const { account } = await paidFor([one, other, third]);
  const rival = await funded(await newAccount(), 10_000);
  await purchase(rival, [one, other]);
  await registered(rival, other);
  await continued(account);
  expect(await told(account)).toEqual([["domain_taken", "domain_taken", null]]);
  expect(await wallet(account)).toEqual({ posted: 4_200, available: 2_800 });
});

test("a name that is registered elsewhere meanwhile, or by the account itself, is reported as such", async () => {
  const [elsewhere, own] = [uniqueName(), uniqueName()];
  const { account, workspace_id } = await paidFor([elsewhere, own], 1_400);
  expect((await purchase(account, [own], { workspace_id })).body.successful_count).toBe(1);
  await registered(account, own);
  await registerElsewhere(testTable(), elsewhere, {});
  await continued(account);
  expect(await told(account)).toEqual([["domain_unavailable", "domain_exists"]]);
});

/** A transfer of names at another registrar, whose payment has arrived. No worker has continued it yet. */
async function transferPaidFor(names: string[]): Promise<Account> {
  const account = await newAccount();
  const { body } = await transfer(account, names);
  await pay(account, body.payment_url);
  return account;
}

test("names that cannot be transferred any more are reported with the codes of a transfer", async () => {
  const names = await Promise.all(Array.from({ length: 4 }, () => nameElsewhere()));
  const [locked = "", recoded = "", taken = "", free = ""] = names;
  const account = await transferPaidFor(names);
  await registerElsewhere(testTable(), locked, { locked: true });
  await registerElsewhere(testTable(), recoded, { auth_code: "Another-Code-1234" });
  const rival = await funded(await newAccount(), 10_000);
  await transfer(rival, [taken]);
  await transferred(rival, taken);
  await continued(account);
  expect(await told(account)).toEqual([["transfer_locked", "auth_code_wrong", "domain_taken", null]]);
  expect((await wallet(account)).posted).toBe(5_600);
  expect(await readDomain(account, free)).toMatchObject({ status: "pending_transfer" });
});

test("a name that the account connects after the call of the transfer is not transferred", async () => {
  const name = await nameElsewhere();
  const account = await transferPaidFor([name]);
  await connected(account, { name });
  await continued(account);
  expect(await told(account)).toEqual([["domain_exists"]]);
});

test("names that the account has bought meanwhile are not bought again", async () => {
  const [one, other] = [uniqueName(), uniqueName()];
  const { account, workspace_id } = await paidFor([one, other]);
  const again = await purchase(account, [one, other], { workspace_id });
  expect(again.body.successful_count).toBe(2);
  await continued(account);
  expect(await told(account)).toEqual([["insufficient_funds", "insufficient_funds"]]);
  expect([await total(account), await wallet(account)]).toEqual([2, { posted: 2_800, available: 0 }]);
});

test("two paid purchases of the same name buy the name once, and the rest of the money stays in the wallet", async () => {
  const name = uniqueName();
  const account = await newAccount();
  const purchases = [await purchase(account, [name]), await purchase(account, [name])];
  for (const { body } of purchases) await pay(account, body.payment_url);
  await continued(account);
  expect(new Set((await told(account)).flat())).toEqual(new Set(["domain_exists", null]));
  expect(await wallet(account)).toEqual({ posted: 2_800, available: 1_400 });
  expect(await total(account)).toBe(1);
});

test("a purchase that is continued several times, also at the same time, buys each name once", async () => {
  const names = [uniqueName(), uniqueName(), uniqueName()];
  const { account, batchId } = await paidFor(names);
  const [due] = await batchesDue(account);
  const again = () => continueBatch(account.id, batchId, due?.at ?? "", workAt(new Date()));
  await Promise.all([again(), again(), again()]);
  await again();
  expect(await wallet(account)).toEqual({ posted: 4_200, available: 0 });
  expect([await total(account), (await told(account)).length, await batchesDue(account)]).toEqual([3, 1, []]);
});

test("names that were bought before the process died count as bought", async () => {
  const names = [uniqueName(), uniqueName()];
  const { account } = await paidFor(names);
  const table = testTable();
  let commits = 0;
  const dying = {
    ...table,
    commit: <T>(plan: Parameters<typeof table.commit<T>>[0]): Promise<T> =>
      ++commits > 1 ? Promise.reject(new Error("died")) : table.commit(plan),
  };
  await expect(continued(account, { table: dying })).rejects.toThrow("died");
  expect((await wallet(account)).available).toBe(0);
  await registered(account, names[0] ?? "");
  await continued(account);
  expect(await told(account)).toEqual([[null, null]]);
  expect([await total(account), await batchesDue(account)]).toEqual([2, []]);
});

test("if the registrar does not answer, it is asked again later, and the purchase continues", async () => {
  const { account } = await paidFor([uniqueName(), uniqueName()]);
  await continued(account, { registrar: silent }).catch(() => undefined);
  expect(await told(account)).toEqual([]);
  await continued(account);
  expect(await told(account)).toEqual([[null, null]]);
});

test("if the registrar does not answer for an hour, the purchase ends, and the money stays in the wallet", async () => {
  const { account, batchId } = await paidFor([uniqueName()]);
  const [due] = await batchesDue(account);
  const at = due?.at ?? "";
  const later = new Date(Date.parse(at) + 3_600_000);
  await continueBatch(account.id, batchId, at, workAt(later, { registrar: silent }));
  expect([await told(account), await batchesDue(account)]).toEqual([[["unchecked"]], []]);
  expect(await wallet(account)).toEqual({ posted: 1_400, available: 1_400 });
});

test("a name whose registration failed before can be bought again", async () => {
  const account = await funded(await newAccount(), 1_400);
  const name = uniqueName();
  await purchase(account, [name]);
  const { due_at } = await storedAs(account, name);
  const at = new Date(due_at ?? "");
  const refusing = { ...embeddedRegistrar(testTable(), () => at), register: () => Promise.reject(new Refused("No.")) };
  await advance(account, name, { registrar: refusing });
  const other = uniqueName();
  const { body } = await purchase(account, [name, other]);
  await pay(account, body.payment_url);
  await continued(account);
  expect(await told(account)).toEqual([[null, null]]);
  expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
});

test("a purchase whose workspace was deleted ends, and the money stays in the wallet", async () => {
  const { account, workspace_id } = await paidFor([uniqueName()]);
  const { status } = await request("DELETE", `/v1/public/accounts/${account.id}/workspaces/${workspace_id}`, {
    token: account.owner.token,
  });
  expect(status).toBe(200);
  await continued(account).catch(() => undefined);
  expect([(await told(account)).length, await batchesDue(account)]).toEqual([1, []]);
  expect(await wallet(account)).toEqual({ posted: 1_400, available: 1_400 });
});
