import { randomUUID } from "node:crypto";

import { afterEach, expect, test, vi } from "vitest";

import { localTableName } from "../../../infra/local/table/lock.ts";
import { createAccount } from "../../../shared/access/operate-accounts.ts";
import { invoicesOf } from "../../../shared/billing/invoices/invoice.ts";
import { dayMs } from "../../../shared/core/time.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { readRows } from "../../../shared/table/ranked-list.ts";
import { openTable } from "../../../shared/table/table.ts";
import { emptyProfile, profileKey, readProfile } from "../../../shared/wallet/profile.ts";
import { billing, fund } from "../../support/billing.ts";
import { newFolder } from "../../support/folder.ts";
import { newAccount, newUser, testTable, type Account } from "../../support/world.ts";
import { operator } from "./command-line.ts";

afterEach(() => void vi.unstubAllEnvs());

/** An account that was created 40 days ago, so its first month has ended. */
async function oldAccount(table = testTable()): Promise<Account> {
  const [owner, client] = [newUser(), { id: randomUUID(), name: "Test client" }];
  const input = { client, name: "Old account", ownerId: owner.id };
  const { id, name } = await createAccount(table, input, new Date(Date.now() - 40 * dayMs));
  return { id, name, clientId: client.id, owner };
}

/** The newest invoice of an account, with its lines. */
async function invoiceOf(account: Account) {
  const { body } = await billing(account, "GET", "invoices");
  return (await billing(account, "GET", `invoices/${body.items[0].id}`)).body;
}

/** Prices far above those of the stage `example`. */
const highPrices = { per_mailbox: { minimum: 9_900, mailbox: 300, dedicatedIp: 2_500, sentMails: 0 } };

test("--stage bills with the prices and the VAT of the stage, even if the environment has others", async () => {
  vi.stubEnv("PLAN_PRICES", JSON.stringify([{ from: "2026-01-01", plans: highPrices }]));
  const account = await oldAccount();
  const run = await operator("billing", "run", "--account", account.id, "--stage", "example");
  expect(run).toMatchObject({ code: 0, err: "", out: expect.stringContaining("of the stage example") });
  const invoice = await invoiceOf(account);
  expect(invoice).toMatchObject({ seller: { vat_id: "IE6433435F" }, vat: [{ country: "IE", rate: 23 }] });
  expect(Number(invoice.vat[0].net)).toBeLessThan(10);
  const closing = await oldAccount();
  const closed = await operator("account", "close", "--account", closing.id, "--stage", "example", "--json");
  expect(JSON.parse(closed.out)).toMatchObject({ status: "closed" });
  expect(await invoiceOf(closing)).toMatchObject({ seller: { vat_id: "IE6433435F" } });
});

test("a diagnosis shows the features of the stage", async () => {
  const { id } = await newAccount();
  const { out } = await operator("account", "diagnose", "--account", id, "--stage", "dev", "--json");
  expect(JSON.parse(out).limits.features).toEqual({ payments: false, mail: false, registrar: true, dns: true });
});

/** Makes the operator's command use the local table. */
function useLocalTable(): void {
  vi.stubEnv("TABLE_NAME", "");
  vi.stubEnv("DATA_DIR", newFolder());
  // The environment of the tests can have this variable.
  vi.stubEnv("VAT", undefined);
}

test("a command on the local table uses the VAT of the local product", async () => {
  useLocalTable();
  const run = async (...args: string[]) => JSON.parse((await operator(...args, "--json")).out);
  const { client_id } = await run("client", "create", "--name", "Initech");
  const creating = ["account", "create", "--client", client_id, "--name", "Main", "--owner", newUser().id];
  const { account_id } = await run(...creating);
  const costNow = async () => {
    const { plan } = await run("account", "diagnose", "--account", account_id);
    return Number(plan.next_invoice.total_so_far);
  };
  const withVat = await costNow();
  vi.stubEnv("VAT", "");
  expect(withVat).toBeGreaterThan(await costNow());
});

test.each([
  ["a bill of one account", "billing", "run"],
  ["the closing of an account", "account", "close"],
])("before %s, the VAT id is checked in the register, as in the daily run", async (_, ...command) => {
  useLocalTable();
  await operator("client", "create", "--name", "Any, because this creates the table");
  const table = openTable(new TableClient(), localTableName);
  const { id } = await oldAccount(table);
  const company = { name: "Beispiel GmbH", city: "Berlin", country: "DE", vat_id: "DE136695976" };
  const profile = { ...emptyProfile, ...company, vat_id_status: "unverified", version: 1 };
  await table.commit(async () => ({ value: undefined, writes: [{ put: { ...profileKey(id), ...profile } }] }));
  expect(await operator(...command, "--account", id)).toMatchObject({ code: 0, err: "" });
  expect(await readProfile(table, id)).toMatchObject({ vat_id_status: "valid" });
  const { rows } = await readRows(table, invoicesOf(id), { skip: 0, take: 1 });
  expect(rows).toMatchObject([{ vat: [{ treatment: "reverse_charge", amount: 0 }] }]);
});

test("on a deployed table, a command that needs prices is refused without --stage", async () => {
  const { id, clientId, owner } = await newAccount();
  const creating = ["account", "create", "--client", clientId, "--name", "Main", "--owner", owner.id];
  for (const args of [
    ["billing", "run"],
    ["billing", "run", "--account", id],
    ["account", "close", "--account", id],
    ["account", "diagnose", "--account", id],
    ["account", "set-currency", "--account", id, "--currency", "EUR"],
    [...creating, "--currency", "EUR"],
  ]) {
    const { code, err } = await operator(...args);
    expect([args, code, err]).toEqual([args, 2, expect.stringContaining("--stage is missing")]);
  }
  const credit = ["billing", "credit", "--account", id, "--amount", "5.00", "--id", "bank", "--reason", "Bank"];
  for (const args of [
    credit,
    ["limits", "set", "--account", id, "--class", "default", "--per-minute", "100", "--burst", "10"],
    ["account", "set-currency", "--account", (await newAccount()).id, "--currency", "USD"],
  ])
    expect(await operator(...args)).toMatchObject({ code: 0, err: "" });
});

test("on a deployed table, every command accepts --stage, and a wrong stage is refused", async () => {
  const { id } = await newAccount();
  await fund({ id }, 100);
  expect(await operator("account", "show", "--account", id, "--stage", "example")).toMatchObject({ code: 0 });
  expect(await operator("billing", "run", "--account", id, "--stage", "nowhere")).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no stage "nowhere"'),
  });
  const table = "hosted-mail-prod-Table1A2B3C-4D5E6F";
  expect(await operator("billing", "run", "--table", table, "--stage", "example")).toMatchObject({
    code: 1,
    err: expect.stringContaining("is the table of the stage prod"),
  });
  vi.stubEnv("TABLE_NAME", "");
  expect(await operator("account", "show", "--account", id, "--stage", "example")).toMatchObject({
    code: 2,
    err: expect.stringContaining("--stage needs --table"),
  });
});
