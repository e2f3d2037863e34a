import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { expect, onTestFinished, test } from "vitest";

import { startEngine } from "../../../infra/local/table/engine.ts";
import type { CommandResult } from "../../../infra/operator/operate.ts";
import { getAccount } from "../../../shared/accounts/visible.ts";
import { closeAccount } from "../../../shared/billing/close.ts";
import { handleRefund } from "../../../shared/billing/recharges/returns.ts";
import { operatorCommit } from "../../../shared/changes/recorder.ts";
import { clock, dayMs, dayOf, setClockAhead } from "../../../shared/core/time.ts";
import { listAssignments, planAssignments } from "../../../shared/grants/assignments.ts";
import { planWallet } from "../../../shared/wallet/wallet.ts";
import { log as silent } from "../../shared/billing/scene.ts";
import { isSuperAdmin } from "../../support/auth.ts";
import { newFolder } from "../../support/folder.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser, testTable } from "../../support/world.ts";
import { operator, operatorIn } from "./command-line.ts";

const project = resolve(import.meta.dirname, "../../..");

test("the command creates a client and an account, and the owner can use the account at once", async () => {
  const owner = newUser();
  const client = JSON.parse((await operator("client", "create", "--name", "Initech", "--json")).out);
  const created = await operator(
    "account",
    "create",
    "--client",
    client.client_id,
    "--name",
    "Main",
    "--owner",
    owner.id,
    "--json",
  );
  const account = JSON.parse(created.out);
  expect(account).toMatchObject({ name: "Main", status: "active", client_id: client.client_id, owner_id: owner.id });
  const { body } = await request("GET", "/v1/public/accounts", { token: owner.token });
  expect(body.items).toMatchObject([{ id: account.account_id, client: { name: "Initech" } }]);
});

test("the command adds and removes owners, but not the last owner, and adds and removes super admins", async () => {
  const [{ id, owner }, other] = [await newAccount(), newUser()];
  const sees = async (path: string) => (await request("GET", path, { token: other.token })).status;
  expect(await operator("owner", "add", "--account", id, "--user", other.id)).toMatchObject({ code: 0 });
  expect(await sees(`/v1/public/accounts/${id}/auth/groups`)).toBe(200);
  expect(await operator("owner", "remove", "--account", id, "--user", owner.id)).toMatchObject({ code: 0 });
  const last = await operator("owner", "remove", "--account", id, "--user", other.id);
  expect(last).toMatchObject({
    code: 1,
    err: expect.stringContaining("the last user whose ownership of the account does not end"),
  });
  const foreign = `/v1/public/accounts/${(await newAccount()).id}`;
  await operator("super-admin", "add", "--user", other.id);
  expect(await sees(foreign)).toBe(200);
  await operator("super-admin", "remove", "--user", other.id);
  expect(await sees(foreign)).toBe(404);
});

test("a credit pays the account's debts at once, also if it is repeated after a crash, and the account is active again", async () => {
  const account = await newAccount();
  const credit = (id: string): Promise<CommandResult> => {
    const options = ["--account", account.id, "--amount", "20.00", "--id", id, "--reason", "Bank", "--json"];
    return operator("billing", "credit", ...options);
  };
  // A refund of 5.00, which the account then owes.
  const event = {
    id: "evt_1",
    type: "refund" as const,
    paymentId: "pi_1",
    accountId: account.id,
    refunds: [{ id: "re_1", amount: 500, isFailed: false }],
    currency: "USD",
  };
  const statusOf = async () => (await getAccount(testTable(), account.id)).status;
  const refunded = (id: string) =>
    handleRefund({ ...event, paymentId: id }, { table: testTable(), now: () => new Date(), log: silent });
  await refunded("pi_1");
  expect(await statusOf()).toBe("past_due");
  expect(JSON.parse((await credit("bank")).out)).toMatchObject({ credited: "20.00", balance: "15.00" });
  expect(await statusOf()).toBe("active");
  await refunded("pi_2");
  await refunded("pi_3");
  await refunded("pi_4");
  await refunded("pi_5");
  expect(await statusOf()).toBe("past_due");
  // A process credited the wallet, and died before it paid the debts.
  await withoutPaying(account.id, "later");
  expect(await statusOf()).toBe("past_due");
  const repeat = await credit("later");
  expect(JSON.parse(repeat.out)).toMatchObject({ credited: "already", balance: "15.00" });
  expect(await statusOf()).toBe("active");
});

/** Credits 20.00 under an id, and pays no debts from the credit. */
const withoutPaying = (accountId: string, id: string): Promise<unknown> =>
  operatorCommit(
    testTable(),
    accountId,
    "billing credit",
    new Date(),
  )(async () => {
    const texts = { code: "adjustment", type: "adjustment", description: "Bank" } as const;
    const posting = { kind: "transfer", id: `credit/${id}`, debit: "adjustments", credit: "wallet" } as const;
    return {
      value: undefined,
      ...(await planWallet(testTable(), accountId, [{ ...posting, amount: 2_000, ...texts }], new Date())),
    };
  });

test("removing a super admin revokes the grants of super admin in every account", async () => {
  const [user, giver, table] = [newUser(), { by: "tester", now: new Date() }, testTable()];
  const accounts = [await newAccount(), await newAccount()];
  for (const { id } of accounts)
    await operatorCommit(
      table,
      id,
      "test",
      giver.now,
    )(async () => {
      const planned = await planAssignments(table, id, { type: "user", id: user.id }, [{ kind: "super_admin" }], giver);
      return { ...planned, value: undefined };
    });
  await operator("super-admin", "add", "--user", user.id);
  expect(await isSuperAdmin(user.token)).toBe(true);
  const removed = JSON.parse((await operator("super-admin", "remove", "--user", user.id, "--json")).out);
  expect(await isSuperAdmin(user.token)).toBe(false);
  expect(removed.revoked.map((one: { account_id: string }) => one.account_id).toSorted()).toEqual(
    accounts.map(({ id }) => id).toSorted(),
  );
  for (const { id } of accounts) {
    const grants = await listAssignments(table, id, true, new Date());
    expect(grants.flatMap(({ kind, revoked_at }) => (kind === "super_admin" ? [typeof revoked_at] : []))).toEqual([
      "string",
    ]);
  }
  expect(JSON.parse((await operator("super-admin", "remove", "--user", user.id, "--json")).out).revoked).toEqual([]);
  await operator("super-admin", "add", "--user", user.id);
  expect(await isSuperAdmin(user.token)).toBe(true);
});

test("the command works on the local table, whether the product is stopped or runs", async () => {
  const folder = newFolder();
  const { TABLE_NAME: _, AWS_ENDPOINT_URL_DYNAMODB: __, ...rest } = process.env;
  const env = { ...rest, DATA_DIR: folder };
  const made = await operatorIn(env, "client", "create", "--name", "Kept", "--json");
  const { client_id } = JSON.parse(made.out);
  const engine = await startEngine({ dbPath: join(folder, "table.db") });
  await writeFile(join(folder, "engine.json"), JSON.stringify({ endpoint: engine.endpoint, pid: process.pid }));
  const owner = newUser().id;
  const account = await operatorIn(env, "account", "create", "--client", client_id, "--name", "A", "--owner", owner);
  await engine.stop();
  expect(account).toMatchObject({ code: 0, out: expect.stringContaining(client_id) });
  await writeFile(join(folder, "engine.json"), "not json");
  expect(await operatorIn(env, "client", "create", "--name", "Again")).toMatchObject({ code: 0 });
});

test("the command uses only the endpoint in the environment, if there is one", async () => {
  const { TABLE_NAME: _, ...rest } = process.env;
  const env = { ...rest, AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:9" };
  const { code, err } = await operatorIn(env, "client", "create", "--name", "Nowhere");
  expect(code).toBe(1);
  expect(err).toContain("http://127.0.0.1:9");
});

test("the command dates its changes by the clock of the product, even if the clock is ahead", async () => {
  setClockAhead(336 * dayMs);
  onTestFinished(() => setClockAhead(0));
  const today = dayOf(clock());
  const { id, owner } = await newAccount();
  const { client_id } = JSON.parse((await operator("client", "create", "--name", "Initech", "--json")).out);
  const creating = ["account", "create", "--client", client_id, "--name", "Main", "--owner", owner.id, "--json"];
  const { account_id } = JSON.parse((await operator(...creating)).out);
  expect((await getAccount(testTable(), account_id)).created_at).toContain(today);
  const user = ["--account", id, "--user", newUser().id];
  for (const args of [
    ["owner", "add", ...user],
    ["owner", "remove", ...user],
    ["limits", "clear", "--account", id, "--class", "default"],
    ["account", "set-currency", "--account", id, "--currency", "USD"],
    ["account", "suspend", "--account", id],
    ["account", "reopen", "--account", id],
  ])
    expect(await operator(...args)).toMatchObject({ code: 0, err: "" });
  expect((await getAccount(testTable(), id)).updated_at).toContain(today);
  const { body } = await request("GET", `/v1/public/accounts/${id}/audit-log`, { token: owner.token });
  const late = body.items.filter(({ occurred_at }: { occurred_at: string }) => occurred_at.startsWith(today));
  expect(late.map(({ action }: { action: string }) => action)).toEqual([
    "operator: account active",
    "operator: account suspended",
    "operator: limits",
    "operator: owner remove",
    "operator: owner add",
  ]);
});

test("the command suspends and reopens an account, and a repeat of either command records nothing", async () => {
  const { id, owner } = await newAccount();
  const path = `/v1/public/accounts/${id}/audit-log`;
  const recorded = async () => (await request("GET", path, { token: owner.token })).body.total;
  const before = await recorded();
  const status = async () => (await request("GET", `/v1/public/accounts/${id}`, { token: owner.token })).body.status;
  for (const verb of ["suspend", "suspend", "reopen", "reopen"]) {
    expect(await operator("account", verb, "--account", id)).toMatchObject({ code: 0 });
    expect(await status()).toBe(verb === "suspend" ? "suspended" : "active");
  }
  expect(await recorded()).toBe(before + 2);
});

test.each([
  [[], /Name a command/],
  [["account", "destroy"], /no command "account destroy"/],
  [["constructor"], /no command/],
  [["client", "create"], /--name/],
  [["client", "create", "--name", "x", "--owner", "y"], /--owner is not an option of this command/],
  [["account", "suspend", "--account", "42"], /--account: Not a UUID/],
  [["client", "create", "--nmae", "x"], /nmae/],
  [["events", "replay", "--since", "2026-07-02", "--until", "2026-07-01"], /--until: Write a time after --since/],
  [["events", "replay", "--since", "2026-07-02", "--until", "2026-07-02"], /--until: Write a time after --since/],
  [
    ["limits", "set", "--account", "42", "--class", "all", "--per-minute", "0"],
    /--account: Not a UUID[^]*--class: Not one of default, sensitive[^]*--per-minute: Not a whole number[^]*--burst is missing/,
  ],
])("the command line %j ends with exit code 2 and an error that says what is wrong", async (args, message) => {
  const { code, out, err } = await operator(...args);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(message);
});

test("the command gives the same output and exit code in a process of its own", async () => {
  expect(await operatorIn(process.env, "account", "destroy")).toEqual(await operator("account", "destroy"));
  expect(await operatorIn(process.env, "help")).toEqual(await operator("--help"));
});

test.each([
  [["--table", "nope"], "--table or TABLE_NAME"],
  [["--from-table", "nope"], "--from-table"],
])("an error about %j names the option and the table that does not exist", async (options, option) => {
  const { id } = await newAccount();
  const args = ["--account", id, "--from-table", "other", ...options];
  expect(await operator("restore", "account", ...args)).toMatchObject({
    code: 1,
    err: `${option}: There is no table nope\n`,
  });
});

test.each([
  ["suspend", "suspended"],
  ["reopen", "opened again"],
])("account %s of a closed account says that it cannot be %s", async (command, change) => {
  const { id } = await newAccount();
  await closeAccount(testTable(), id, clock());
  const err = `The account is closed, so it cannot be ${change}.\n`;
  expect(await operator("account", command, "--account", id)).toMatchObject({ code: 1, err });
});

test("npm run operator gives the command quotes, backslashes and empty arguments unchanged", async () => {
  const npmRun = async (...args: string[]) =>
    promisify(execFile)("npm", ["run", "--silent", "operator", "--", ...args, "--json"], { cwd: project });
  const name = String.raw`O'Neil's "\ $HOME \\ mail"`;
  const { stdout } = await npmRun("client", "create", "--name", name);
  expect(JSON.parse(stdout)).toMatchObject({ name });
  await expect(npmRun("client", "create", "--name", "")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--name: "),
  });
});

test("the command exits with 1 for an unknown account", async () => {
  const { code, err } = await operator("account", "suspend", "--account", "99999999-9999-4999-8999-999999999999");
  expect(code).toBe(1);
  expect(err).toMatch(/This account, client, .* does not exist/);
});

test("--help shows the commands and the exit codes", async () => {
  const { code, out } = await operator("--help");
  expect(code).toBe(0);
  for (const part of ["client create", "account suspend", "limits set", "--json", "Exit codes"])
    expect(out).toContain(part);
});
