import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { delegationOf, registerElsewhere } from "../../../shared/providers/registrar/embedded-names.ts";
import { newWorkspace } from "../../support/auth.ts";
import { advance, setStored, storedAs } from "../../support/domain-work.ts";
import {
  active,
  connected,
  contact,
  delegated,
  domainsRequest,
  listedDomains,
  purchase,
  readDomain,
  uniqueName,
} from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { buyer, continued, happened, pay, transactions, wallet } from "../../support/purchases.ts";
import { daysFrom, lookWith, registrationAt } from "../../support/renewals.ts";
import { request } from "../../support/request.ts";
import {
  authCode,
  endFailed,
  lookAtTransfer,
  nameElsewhere,
  oldNameservers,
  transfer,
  transferred,
} from "../../support/transfers.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

/** An account with 100.00 in its wallet, and a name at another registrar. */
async function scene(prefix = "", given: Parameters<typeof nameElsewhere>[1] = {}) {
  const [account, name] = await Promise.all([buyer(10_000), nameElsewhere(prefix, given)]);
  return { account, name };
}

/** The wallet before the transfer of a name, during the transfer, and after it. */
const before = { posted: 10_000, available: 10_000 };
const held = { posted: 10_000, available: 8_600 };
const paid = { posted: 8_600, available: 8_600 };

const resultFor = (name: string, error_code: string) =>
  expect.objectContaining({ domain_name: name, status: "failed", id: null, error_code });

describe("a name that is new in the account", () => {
  test("is transferred and paid once, and is then delegated to our nameservers", async () => {
    const { account, name } = await scene("", { expires_at: "2029-01-02T03:04:05.006Z" });
    const { status, body } = await transfer(account, [name], { max_total: "14.00" });
    expect(status).toBe(200);
    expect(body).toEqual({
      results: [
        {
          domain_name: name,
          status: "pending_transfer",
          id: expect.any(String),
          error: null,
          error_code: null,
          transferable_at: null,
        },
      ],
      successful_count: 1,
      failed_count: 0,
      currency: "USD",
      estimated_total: "14.00",
      estimated_vat: "0.00",
      payment_url: null,
      purchase_batch_id: expect.any(String),
    });
    expect(await wallet(account)).toEqual(held);
    const running = {
      id: expect.any(String),
      status: "running",
      reason: null,
      price: "14.00",
      currency: "USD",
      started_at: expect.stringMatching(/Z$/),
    };
    const begun = { status: "pending_transfer", source: "purchased", auto_renew: true, transfer: running };
    expect(await readDomain(account, name)).toMatchObject({ ...begun, registration: { status: "pending" } });

    await transferred(account, name);
    expect(await wallet(account)).toEqual(paid);
    expect((await transactions(account)).at(-1)).toBe(`purchase settled 14.00 Transfer of ${name}, with a year`);
    expect(await readDomain(account, name)).toMatchObject({
      status: "pending_delegation",
      source: "purchased",
      auto_renew: true,
      transfer: { ...running, status: "succeeded" },
      registration: { status: "active", expires_at: "2030-01-02T03:04:05.006Z", locked: true, privacy: true },
    });
    expect((await happened(account)).filter((type) => type.startsWith("domain.transfer"))).toEqual([
      "domain.transferred",
    ]);
    await advance(account, name);
    const { nameservers } = await readDomain(account, name);
    expect((await registrationAt(name)).nameservers).toEqual(nameservers);
    await advance(account, name);
    expect(await readDomain(account, name)).toMatchObject({ status: "active", outbound_routing_ready: true });
  });

  test("keeps its nameservers if `dns_mode` is `external`", async () => {
    const { account, name } = await scene();
    await transfer(account, [name], { dns_mode: "external" });
    await transferred(account, name);
    await advance(account, name);
    expect(await readDomain(account, name)).toMatchObject({ dns_mode: "external", source: "purchased" });
    expect((await registrationAt(name)).nameservers).toEqual(oldNameservers);
  });

  test("stays `pending_transfer` and keeps its delegation while a slow registrar transfers it", async () => {
    const { account, name } = await scene("slow-");
    await transfer(account, [name]);
    for (let looks = 0; looks < 12; looks++) await lookAtTransfer(account, name);
    expect(await readDomain(account, name)).toMatchObject({
      status: "pending_transfer",
      transfer: { status: "running" },
    });
    expect(await delegationOf(testTable(), name)).toEqual(oldNameservers);
    const { transfer: over } = await transferred(account, name);
    expect(over?.stage).toBe("captured");
    expect(await wallet(account)).toEqual(paid);
  });

  test.each([
    ["transfer-refused-", "The present registrar refused the transfer."],
    ["transfer-fails-", "The registry did not transfer the name."],
  ])("that begins with %s fails, and costs nothing; it can be tried again", async (prefix, reason) => {
    const { account, name } = await scene(prefix);
    await transfer(account, [name]);
    await transferred(account, name);
    expect(await wallet(account)).toEqual(before);
    expect(await readDomain(account, name)).toMatchObject({
      status: "failed",
      status_reason: reason,
      registration: { status: "failed" },
      transfer: { status: "failed", reason },
    });
    expect(await happened(account)).toContain("domain.transfer_failed");
    await endFailed(name);
    expect((await transfer(account, [name])).body.results[0]).toMatchObject({ status: "pending_transfer" });
    expect((await listedDomains(account)).total).toBe(1);
  });

  test("is transferred once even if the registrar's answer was lost", async () => {
    const { account, name } = await scene("lost-");
    await transfer(account, [name]);
    await transferred(account, name);
    expect(await wallet(account)).toEqual(paid);
    expect(await readDomain(account, name)).toMatchObject({ transfer: { status: "succeeded" } });
  });

  test("fails and costs nothing if it was locked after the request for the transfer", async () => {
    const { account, name } = await scene();
    await transfer(account, [name]);
    await lockElsewhere(name);
    await transferred(account, name);
    expect(await wallet(account)).toEqual(before);
    expect(await readDomain(account, name)).toMatchObject({
      status: "failed",
      status_reason: expect.stringContaining("locked"),
    });
  });

  test("cannot be verified, renewed or deleted while it is transferred", async () => {
    const { account, name } = await scene("slow-");
    await transfer(account, [name]);
    const calls = [
      domainsRequest(account, "POST", `/${name}/verify`),
      domainsRequest(account, "POST", `/${name}/renew`, { years: 1 }),
      domainsRequest(account, "DELETE", `/${name}`),
    ];
    for (const { body } of await Promise.all(calls)) {
      expect(body).toMatchObject({ status: 409, code: "domain_not_ready", domain_status: "pending_transfer" });
    }
  });
});

/** Locks a name at its present registrar. */
const lockElsewhere = (name: string): Promise<string> => registerElsewhere(testTable(), name, { locked: true });

describe("a name that the account has connected", () => {
  /** An active domain of the account. Its name is registered at another registrar. */
  async function connectedScene(prefix = "") {
    const account = await buyer(10_000);
    const name = await nameElsewhere(prefix);
    const domain = await active(account, { name });
    return { account, name, domain };
  }

  test("keeps its domain, status and contents while it is transferred, and is `purchased` afterwards", async () => {
    const { account, name, domain } = await connectedScene("slow-");
    const shown = await readDomain(account, name);
    const { body } = await transfer(account, [name], { dns_mode: "external" });
    expect(body.results[0]).toMatchObject({ status: "pending_transfer", id: domain.id });
    for (let looks = 0; looks < 5; looks++) await lookAtTransfer(account, name);
    const { updated_at: _, transfer: running, ...rest } = await readDomain(account, name);
    expect(running).toMatchObject({ status: "running", price: "14.00" });
    expect({ ...shown, ...rest }).toEqual({ ...shown, auto_renew: true });
    await transferred(account, name);
    await advance(account, name);
    expect(await wallet(account)).toEqual(paid);
    expect(await readDomain(account, name)).toMatchObject({
      id: domain.id,
      workspace_id: domain.workspace_id,
      status: "active",
      source: "purchased",
      dns_mode: "hosted",
      auto_renew: true,
      transfer: { status: "succeeded" },
      registration: { status: "active" },
      dns_record_count: shown.dns_record_count,
    });
    const inAWeek = daysFrom(new Date().toISOString(), 7);
    expect((await registrationAt(name, inAWeek)).nameservers.toSorted()).toEqual(domain.nameservers.toSorted());
  });

  test.each([true, false])(
    "keeps the `auto_renew` that its customer set during the transfer (%s)",
    async (auto_renew) => {
      const { account, name } = await connectedScene("slow-");
      const set = (value: boolean) => domainsRequest(account, "PATCH", `/${name}`, { auto_renew: value });
      expect((await set(true)).status).toBe(422);
      await transfer(account, [name]);
      expect((await set(!auto_renew)).body).toMatchObject({ auto_renew: !auto_renew, registration: null });
      expect((await set(auto_renew)).body).toMatchObject({ auto_renew, registration: null });
      await transferred(account, name);
      expect(await readDomain(account, name)).toMatchObject({ source: "purchased", auto_renew });
    },
  );

  test("is checked at its usual times while it is transferred", async () => {
    const { account, name } = await connectedScene("slow-");
    const { due_at } = await storedAs(account, name);
    await transfer(account, [name]);
    await lookAtTransfer(account, name);
    expect((await storedAs(account, name)).due_at).toBe(due_at);
    await advance(account, name);
    expect(await readDomain(account, name)).toMatchObject({ status: "active", transfer: { status: "running" } });
  });

  test("is checked again a minute after its transfer, even if it had waited for its delegation for days", async () => {
    const [account, name] = await Promise.all([buyer(10_000), nameElsewhere()]);
    await connected(account, { name });
    await setStored(account, name, { failures: 9 });
    await transfer(account, [name]);
    const { due_at } = await transferred(account, name);
    // The registry has not changed the delegation yet.
    await lookWith(account, name, { setNameservers: async () => undefined });
    const after = await storedAs(account, name);
    expect([after.status, Date.parse(after.due_at ?? "") - Date.parse(due_at ?? "")]).toEqual([
      "pending_delegation",
      60_000,
    ]);
  });

  test("stays as it was if the transfer fails, and costs nothing", async () => {
    const { account, name } = await connectedScene("transfer-refused-");
    const { updated_at: _, ...shown } = await readDomain(account, name);
    await transfer(account, [name]);
    await transferred(account, name);
    expect(await wallet(account)).toEqual(before);
    const reason = "The present registrar refused the transfer.";
    expect(await readDomain(account, name)).toMatchObject({ ...shown, transfer: { status: "failed", reason } });
    await endFailed(name);
    expect((await transfer(account, [name])).body.results[0]).toMatchObject({ status: "pending_transfer" });
  });

  test("is neither transferred for a caller without access to its workspace, nor shown to this caller", async () => {
    const { account, name } = await connectedScene();
    const workspace_id = await newWorkspace(account, "Elsewhere");
    const member = await newMember(account, { role: "manager", scope: { type: "workspace", id: workspace_id } });
    const { body } = await request("POST", `/v1/public/accounts/${account.id}/domains/transfer`, {
      token: member.token,
      body: transferBody(workspace_id, name),
    });
    expect(body.results).toEqual([resultFor(name, "domain_exists")]);
    expect(await wallet(account)).toEqual(before);
  });
});

test("a name that is in the list twice, in two spellings, is transferred with its first auth code", async () => {
  const account = await buyer(10_000);
  const [name, other] = await Promise.all([nameElsewhere(), nameElsewhere()]);
  const send = async (...codes: [string, string][]) =>
    domainsRequest(account, "POST", "/transfer", {
      workspace_id: await newWorkspace(account, randomUUID()),
      contact_info: contact,
      domains: codes.map(([given, auth_code]) => ({ name: given, auth_code })),
    });
  const wrongFirst = await send([other, "wrong"], [`${other.toUpperCase()}.`, authCode]);
  expect(wrongFirst.body.results).toMatchObject([{ error_code: "auth_code_wrong" }, { error_code: "duplicate" }]);
  const rightFirst = await send([name, authCode], [`${name.toUpperCase()}.`, "wrong"]);
  expect(rightFirst.body.results).toMatchObject([{ status: "pending_transfer" }, { error_code: "duplicate" }]);
  await transferred(account, name);
  expect(await readDomain(account, name)).toMatchObject({ transfer: { status: "succeeded" } });
  expect(await wallet(account)).toEqual(paid);
});

const transferBody = (workspace_id: string, name: string) => ({
  workspace_id,
  domains: [{ name, auth_code: authCode }],
  contact_info: contact,
});

test("each bad name in a list fails with its own code and costs nothing, and the good name goes on", async () => {
  const account = await buyer(100_000);
  const now = new Date();
  const inTenYears = new Date(now.getTime() + 3_500 * 86_400_000).toISOString();
  const [good, wrong, locked, young, long, silent] = await Promise.all([
    nameElsewhere(),
    nameElsewhere("", { auth_code: "another" }),
    nameElsewhere("", { locked: true }),
    nameElsewhere("", { registered_at: now.toISOString() }),
    nameElsewhere("", { expires_at: inTenYears }),
    nameElsewhere("transfer-silent-"),
  ]);
  const own = uniqueName();
  await purchase(account, [own]);
  const taken = (await active(await newAccount())).name;
  const free = uniqueName();
  const names = [
    good,
    wrong,
    locked,
    young,
    long,
    silent,
    own,
    taken,
    free,
    good,
    `www.${free}`,
    uniqueName("d", "museum"),
  ];
  const { status, body } = await transfer(account, names);
  expect(status).toBe(200);
  const results: { error_code: string | null; transferable_at: string | null; error: string | null }[] = body.results;
  expect(results.map(({ error_code }) => error_code)).toEqual([
    null,
    "auth_code_wrong",
    "transfer_locked",
    "transfer_too_soon",
    "too_many_years",
    "unchecked",
    "domain_exists",
    "domain_taken",
    "not_registered",
    "duplicate",
    "not_registrable",
    "unsupported_tld",
  ]);
  expect(new Date(results[3]?.transferable_at ?? "").getTime()).toBe(now.getTime() + 60 * 86_400_000);
  expect(results[1]?.error).toBe("The auth code is wrong. Get a new one from the name's present registrar.");
  expect(body).toMatchObject({ successful_count: 1, failed_count: 11, estimated_total: "14.00" });
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 - 2 * 1_400 });
});

test("a name whose registry checks the nameservers first is transferred only with external DNS, and is not sold", async () => {
  const account = await buyer(10_000);
  const name = uniqueName("d", "de");
  await registerElsewhere(testTable(), name, { auth_code: authCode, nameservers: [...oldNameservers] });
  const refused = await transfer(account, [name]);
  expect(refused.body.results).toEqual([resultFor(name, "unsupported_tld")]);
  expect(refused.body.results[0].error).toContain("with the dns_mode `external`");
  const free = uniqueName("d", "de");
  const unsold = await purchase(account, [free]);
  expect(unsold.body.results).toEqual([resultFor(free, "unsupported_tld")]);
  expect(unsold.body.results[0].error).toContain("nameservers that answer for it already");
  expect(await wallet(account)).toEqual(before);
  const kept = await transfer(account, [name], { dns_mode: "external" });
  expect(kept.body.results).toMatchObject([{ domain_name: name, status: "pending_transfer" }]);
});

test("a transfer whose price is above the agreed price changes nothing", async () => {
  const { account, name } = await scene();
  const { body } = await transfer(account, [name], { max_total: "13.99" });
  expect(body).toMatchObject({ status: 409, code: "quote_changed", estimated_total: "14.00" });
  expect((await listedDomains(account)).total).toBe(0);
});

test("a transfer that the wallet does not cover waits for its payment, and then continues", async () => {
  const account = await buyer(1_000);
  const name = await nameElsewhere();
  const { body } = await transfer(account, [name], { dns_mode: "external" });
  expect(body.results[0]).toMatchObject({ status: "payment_required", id: null });
  expect(await wallet(account)).toEqual({ posted: 1_000, available: 1_000 });
  await pay(account, body.payment_url);
  await continued(account);
  expect(await readDomain(account, name)).toMatchObject({ status: "pending_transfer", dns_mode: "external" });
  await transferred(account, name);
  expect(await readDomain(account, name)).toMatchObject({ transfer: { status: "succeeded" } });
  expect((await wallet(account)).available).toBe(0);
});

test("a repetition with the same key gets the same answer, and a repetition without the key holds no more money", async () => {
  const { account, name } = await scene("slow-");
  const workspace_id = await newWorkspace(account, "One");
  const key = { "idempotency-key": randomUUID() };
  const first = await transfer(account, [name], { workspace_id }, key);
  const again = await transfer(account, [name], { workspace_id }, key);
  expect([again.headers["idempotency-replayed"], again.body]).toEqual(["true", first.body]);
  const other = await transfer(account, [name], { workspace_id });
  expect(other.body.results[0]).toMatchObject({ error_code: "domain_exists" });
  expect(await wallet(account)).toEqual(held);
});

describe("the auth code", () => {
  test("is stored only in sealed form while the transfer runs, and is deleted when the transfer is over", async () => {
    const { account, name } = await scene("slow-");
    const key = { "idempotency-key": randomUUID() };
    const { text } = await transfer(account, [name], {}, key);
    expect((await storedAs(account, name)).transfer?.sealed_auth_code).toMatch(/^aes1:/);
    await transferred(account, name);
    expect((await storedAs(account, name)).transfer).not.toHaveProperty("sealed_auth_code");
    expect(text).not.toContain(authCode);
    expect(JSON.stringify(await storedOf(account))).not.toContain(authCode);
    expect(JSON.stringify(await readDomain(account, name))).not.toContain("auth_code");
  });

  test("is stored only in sealed form before the payment, and is deleted when the transfer is over", async () => {
    const account = await newAccount();
    const name = await nameElsewhere("slow-");
    const { body } = await transfer(account, [name]);
    const stored = JSON.stringify(await storedOf(account));
    expect(stored).toContain("sealed_auth_code");
    expect(stored).not.toContain(authCode);
    await pay(account, body.payment_url);
    await continued(account);
    await transferred(account, name);
    expect(JSON.stringify(await storedOf(account))).not.toContain("sealed_auth_code");
  });

  test.each([
    ["missing", {}],
    ["empty", { auth_code: " " }],
    ["not a text", { auth_code: 7 }],
    ["not ASCII", { auth_code: "schlüssel" }],
    ["too long", { auth_code: "x".repeat(256) }],
  ])("that is %s is refused, and the error does not show it", async (_, code) => {
    const { account, name } = await scene();
    const { status, body, text } = await transfer(account, [], { domains: [{ name, ...code }] });
    expect(status).toBe(422);
    expect(body.detail[0].loc).toEqual(["body", "domains", 0, "auth_code"]);
    expect(text).not.toContain("schlüssel");
  });
});

describe("the name of another account", () => {
  test("that connected the name without proof is taken over by a transfer that succeeds, and not before", async () => {
    const { account, name } = await scene("slow-");
    const rival = await newAccount();
    await connected(rival, { name });
    expect((await transfer(account, [name])).body.results[0]).toMatchObject({ status: "pending_transfer" });
    await lookAtTransfer(account, name);
    expect(await readDomain(rival, name)).toMatchObject({ status: "pending_delegation" });
    await transferred(account, name);
    expect(await readDomain(rival, name)).toMatchObject({ status: "releasing", deletes_at: expect.any(String) });
    expect(await readDomain(account, name)).toMatchObject({ status: "pending_delegation", source: "purchased" });
  });

  test("stays with that account if the transfer fails", async () => {
    const { account, name } = await scene("transfer-fails-");
    const rival = await newAccount();
    await connected(rival, { name });
    await transfer(account, [name]);
    await transferred(account, name);
    expect(await readDomain(rival, name)).toMatchObject({ status: "pending_delegation" });
    await delegated(rival, name);
    await domainsRequest(rival, "POST", `/${name}/verify`);
    expect(await readDomain(rival, name)).toMatchObject({ status: "active" });
  });

  test("that is transferring the name is `domain_taken` for a transfer and for a connection", async () => {
    const { account, name } = await scene("slow-");
    await transfer(account, [name]);
    const other = await buyer(10_000);
    expect((await transfer(other, [name])).body.results).toEqual([resultFor(name, "domain_taken")]);
    expect((await domainsRequest(other, "POST", "", await newDomainBody(other, name))).body).toMatchObject({
      code: "domain_taken",
    });
  });

  test("can be connected during a transfer by the account to which it is delegated, until the transfer succeeds", async () => {
    const { account, name } = await scene("slow-");
    await transfer(account, [name]);
    const owner = await newAccount();
    await delegated(owner, name);
    expect((await domainsRequest(owner, "POST", "", await newDomainBody(owner, name))).status).toBe(201);
    await domainsRequest(owner, "POST", `/${name}/verify`);
    expect(await readDomain(owner, name)).toMatchObject({ status: "active" });
    expect(await readDomain(account, name)).toMatchObject({ status: "pending_transfer" });
    await transferred(account, name);
    expect(await readDomain(owner, name)).toMatchObject({ status: "releasing", deletes_at: expect.any(String) });
    expect(await readDomain(account, name)).toMatchObject({ status: "pending_delegation" });
  });

  test("that is transferring the name goes to an account that proves the name, and comes back if the transfer succeeds", async () => {
    const account = await buyer(10_000);
    const name = await nameElsewhere("slow-");
    const { id } = await connected(account, { name });
    await transfer(account, [name]);
    const owner = await newAccount();
    await delegated(owner, name);
    expect((await domainsRequest(owner, "POST", "", await newDomainBody(owner, name))).status).toBe(201);
    expect(await readDomain(account, name)).toMatchObject({ id, status: "releasing", transfer: { status: "running" } });
    await transferred(account, name);
    expect(await readDomain(account, name)).toMatchObject({ id, status: "pending_delegation", deletes_at: null });
    expect(await readDomain(owner, name)).toMatchObject({ status: "releasing" });
    expect(await wallet(account)).toEqual(paid);
  });
});

const newDomainBody = async (account: Account, name: string) => ({
  name,
  workspace_id: await newWorkspace(account, "Connected"),
});
