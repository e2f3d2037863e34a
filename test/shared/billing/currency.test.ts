import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { localVat } from "../../../infra/local/start/local-vat.ts";
import { createAccount } from "../../../shared/access/operate-accounts.ts";
import { accountKey } from "../../../shared/accounts/account.ts";
import { setAccountCurrency } from "../../../shared/billing/currency.ts";
import { watchWallet } from "../../../shared/billing/recharges/watch.ts";
import { clock, dayOf, nextMonth, plusDays } from "../../../shared/core/time.ts";
import { getStoredCheckout } from "../../../shared/providers/payments/embedded.ts";
import { StoredTopup, topupKey } from "../../../shared/wallet/topup.ts";
import { withStep } from "../../support/between-calls.ts";
import { billing, closeDays, credit, fund, tellPayment, use } from "../../support/billing.ts";
import { contact } from "../../support/contact.ts";
import { sellInEuros } from "../../support/currencies.ts";
import { newOption } from "../../support/dedicated-ips.ts";
import { request } from "../../support/request.ts";
import { saveTestCard } from "../../support/saved-cards.ts";
import { newAccount, newUser, testTable, type Account } from "../../support/world.ts";
import { newScene } from "./scene.ts";

const table = testTable();

beforeEach(() => {
  sellInEuros();
  vi.stubEnv("VAT", JSON.stringify(localVat));
});
afterEach(() => void vi.unstubAllEnvs());

const get = async ({ id, owner }: Account, rest = "") =>
  (await request("GET", `/v1/public/accounts/${id}${rest}`, { token: owner.token })).body;

const newEuroAccount = (): Promise<Account> => newAccount({ currency: "EUR" });

/** All values of `currency` in an answer. */
function currenciesIn(answer: unknown): string[] {
  const found = new Set<string>();
  JSON.stringify(answer, (name, value: unknown) => {
    if (name === "currency") found.add(String(value));
    return value;
  });
  return [...found];
}

/** Opens a top-up of 100.00. The provider then reports a payment of 100.00 in `currency`. */
async function topUp(account: Account, currency: string) {
  const { body } = await billing(account, "POST", "topup-session", { amount: "100.00" });
  const checkoutId = String(body.hosted_page.id);
  const stored = await getStoredCheckout(table, checkoutId);
  const told = { checkoutId, reference: stored?.reference ?? "", cents: 10_000, currency };
  await tellPayment(account, told);
  return { checkout: stored, balance: (await billing(account, "GET", "wallet-balance")).body };
}

test("an account in EUR sees its currency and its prices everywhere, and pays in it", async () => {
  const account = await newEuroAccount();
  expect((await get(account)).currency).toBe("EUR");
  const plans = (await billing(account, "GET", "plans")).body;
  expect(plans.plans[0]).toMatchObject({ minimum: "4.30", prices: { mailbox_per_month: "2.70" } });
  const { checkout, balance } = await topUp(account, "eur");
  expect(checkout?.currency).toBe("EUR");
  expect(balance).toMatchObject({ balance: "100.00", currency: "EUR" });
  await use(account, 2);
  const change = { plan_id: "per_dedicated_ip", dry_run: true };
  const answers = [
    plans,
    balance,
    (await billing(account, "GET", "current-plan")).body,
    (await billing(account, "GET", "usage")).body,
    (await billing(account, "GET", "alerts")).body,
    (await billing(account, "GET", "auto-recharge")).body,
    (await billing(account, "GET", "transactions")).body,
    (await billing(account, "POST", "change-plan", change)).body,
  ];
  expect(answers.map(currenciesIn)).toEqual(answers.map(() => ["EUR"]));
});

test("the invoice and the credit note of an account in EUR are in EUR, and show VAT in no other currency", async () => {
  const account = await newEuroAccount();
  await fund(account, 10_000);
  await use(account, 3);
  const last = plusDays(nextMonth(dayOf(clock())), -1);
  await closeDays(account, last);
  const [invoice] = (await billing(account, "GET", "invoices")).body.items;
  const detail = (await billing(account, "GET", `invoices/${invoice.id}`)).body;
  expect(detail).toMatchObject({ currency: "EUR", status: "paid", lines: [{ unit_price: "2.70" }] });
  expect(detail.vat).toMatchObject([{ rate: 23 }]);
  expect(detail.notes.join()).not.toContain("VAT in");
  await credit(account, { invoiceId: invoice.id });
  const notes = (await billing(account, "GET", "credit-notes")).body;
  expect([currenciesIn(notes), notes.items[0].amount]).toEqual([["EUR"], detail.amount]);
  expect(currenciesIn((await billing(account, "GET", "transactions")).body)).toEqual(["EUR"]);
});

test("a payment in another currency is not credited", async () => {
  const [euros, dollars] = [await newEuroAccount(), await newAccount()];
  expect((await topUp(euros, "usd")).balance).toMatchObject({ balance: "0.00", currency: "EUR" });
  expect((await topUp(dollars, "eur")).balance).toMatchObject({ balance: "0.00", currency: "USD" });
});

test("an automatic recharge of an account in EUR is in EUR", async () => {
  const account = await newEuroAccount();
  await saveTestCard(account);
  await billing(account, "PATCH", "auto-recharge", { enabled: true, threshold: "20.00", amount: "25.00" });
  await watchWallet(account.id, { table, now: clock });
  const { state, last_recharge, currency } = (await billing(account, "GET", "auto-recharge")).body;
  expect([state, currency, last_recharge.currency]).toEqual(["running", "EUR", "EUR"]);
});

test("an account in EUR sees the price of a dedicated IP in EUR, and an error about missing funds in EUR", async () => {
  const account = await newEuroAccount();
  const { option_id } = await newOption();
  const options = (await get(account, "/dedicated-ips/available-options")) as { option_id: string; price: string }[];
  expect(options.find((one) => one.option_id === option_id)).toMatchObject({ price: "21.00", currency: "EUR" });
  const path = `/v1/public/accounts/${account.id}/dedicated-ips/claim`;
  const { status, body } = await request("POST", path, { token: account.owner.token, body: { option_id } });
  expect([status, body.code, body.currency]).toEqual([409, "insufficient_funds", "EUR"]);
});

test("an account in EUR cannot buy domain names, because they are sold in USD; a dry run is refused too", async () => {
  const account = await newEuroAccount();
  await fund(account, 100_000);
  const { token } = account.owner;
  const at = `/v1/public/accounts/${account.id}`;
  const workspace = await request("POST", `${at}/workspaces`, { token, body: { name: "One" } });
  for (const dry_run of [false, true]) {
    const order = { workspace_id: workspace.body.id, domains: ["an-euro-name.com"], contact_info: contact, dry_run };
    const { status, body } = await request("POST", `${at}/domains/purchase`, { token, body: order });
    expect([status, body.code, body.account_currency]).toEqual([409, "other_currency", "EUR"]);
  }
  expect((await billing(account, "GET", "wallet-balance")).body.held).toBe("0.00");
});

const create = (currency: string) =>
  createAccount(
    table,
    { client: { id: newUser().id, name: "C" }, name: "A", currency, ownerId: newUser().id },
    clock(),
  );

test.each([
  ["GBP", "no prices in GBP"],
  ["JPY", "two decimals"],
  ["XQQ", "ISO 4217"],
])("a new account in %s is refused, and the error says %j", async (currency, reason) => {
  await expect(create(currency)).rejects.toThrow(reason);
});

test("an account in a currency without a rate to the seller's is refused", async () => {
  vi.stubEnv("VAT", JSON.stringify({ ...localVat, national_currency: { code: "SEK", rate: "9.5" } }));
  await expect(create("EUR")).rejects.toThrow("no rate from EUR to SEK");
  const rates = { code: "SEK", rate: "9.5", rates: { EUR: "11.1" } };
  vi.stubEnv("VAT", JSON.stringify({ ...localVat, national_currency: rates }));
  expect((await create("EUR")).currency).toBe("EUR");
});

test("the currency of an account can change until money is received or a top-up is opened", async () => {
  const account = await newAccount();
  const set = (currency: string) => setAccountCurrency(table, account.id, currency, clock());
  expect((await set("EUR")).currency).toBe("EUR");
  expect((await get(account)).currency).toBe("EUR");
  expect((await set("USD")).currency).toBe("USD");
  await fund(account, 100);
  await expect(set("EUR")).rejects.toThrow("The currency stays USD");
  const waiting = await newAccount();
  await billing(waiting, "POST", "topup-session", { amount: "100.00" });
  await expect(setAccountCurrency(table, waiting.id, "EUR", clock())).rejects.toThrow("The currency stays USD");
});

test("the currency stays if a day that is on no invoice has no prices in the new currency", async () => {
  const prices = { minimum: 430, mailbox: 270, dedicatedIp: 2_100, sentMails: 3 };
  const list = { from: "2027-02-01", currency: "EUR", plans: { per_mailbox: prices, per_dedicated_ip: prices } };
  vi.stubEnv("PLAN_PRICES", JSON.stringify([list]));
  const now = new Date("2027-02-01T00:10:00Z");
  const set = ({ accountId }: { accountId: string }) => setAccountCurrency(table, accountId, "EUR", now);
  await expect(set(await newScene("2027-01-20"))).rejects.toThrow("no prices in EUR on 2027-01-20");
  expect(await set(await newScene("2027-02-01"))).toMatchObject({ currency: "EUR" });
});

test("if the currency changes during a movement of money, the movement is in the final currency", async () => {
  const account = await newAccount();
  const racing = fund(account, 100);
  await setAccountCurrency(table, account.id, "EUR", clock()).catch(() => undefined);
  await racing;
  const { currency } = await get(account);
  expect(currenciesIn((await billing(account, "GET", "transactions")).body)).toEqual([currency]);
});

const firsts = {
  "top-up": {
    send: (account: Account) => billing(account, "POST", "topup-session", { amount: "100.00" }),
    stored: async ({ id }: Account) => {
      const { PK, SK } = topupKey(id, "");
      return (await table.between(PK, SK, `${SK}~`)).map((row) => StoredTopup.parse(row).currency);
    },
  },
  "setting of automatic recharges": {
    send: (account: Account) => billing(account, "PATCH", "auto-recharge", { amount: "50.00" }),
    stored: async (account: Account) => {
      const { amount, currency } = (await billing(account, "GET", "auto-recharge")).body;
      return amount === "50.00" ? [currency] : [];
    },
  },
};

test.each(Object.entries(firsts))(
  "a first %s is never stored in a currency that the account leaves, at whatever moment the currency changes",
  async (_, { send, stored }) => {
    const seen = new Set<string>();
    for (const isStep of [true, false]) {
      for (let at = 0, calls = 1; at < calls; at++) {
        const account = await newAccount();
        const answers: Awaited<ReturnType<typeof send>>[] = [];
        const changed: string[] = [];
        const first = async () => void answers.push(await send(account));
        const leave = () =>
          setAccountCurrency(table, account.id, "EUR", clock()).then(
            (after) => void changed.push(after.currency),
            () => undefined,
          );
        ({ calls } = await (isStep ? withStep(at, leave, first) : withStep(at, first, leave)));
        const { currency } = await get(account);
        expect(currency).toBe(changed[0] ?? "USD");
        const [answer] = answers;
        // The number of calls varies, so the last steps may not run.
        if (!answer) continue;
        const outcome = answer.status < 300 ? "stored" : answer.body.code;
        expect(await stored(account)).toEqual(outcome === "stored" ? [currency] : []);
        seen.add(`${outcome} ${currency}`);
      }
    }
    expect([...seen].toSorted()).toEqual(["busy EUR", "stored EUR", "stored USD"]);
  },
);

test("an account that earlier versions stored has the default currency", async () => {
  const account = await newAccount();
  const key = accountKey(account.id);
  const [{ currency: _, ...old } = {}] = (await table.between(key.PK, key.SK, key.SK)) as Record<string, unknown>[];
  await table.attempt({ put: { ...old, ...key } });
  expect((await get(account)).currency).toBe("USD");
});
