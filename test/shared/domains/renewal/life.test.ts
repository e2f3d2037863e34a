import { describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { accountKey } from "../../../../shared/accounts/account.ts";
import { Problem } from "../../../../shared/core/errors.ts";
import { domainKey } from "../../../../shared/domains/domain.ts";
import { readHolder } from "../../../../shared/domains/holder.ts";
import { registeredNameKey } from "../../../../shared/providers/registrar/embedded-names.ts";
import { embeddedRegistrar } from "../../../../shared/providers/registrar/embedded.ts";
import { Refused, type Registration } from "../../../../shared/providers/registrar/registrar.ts";
import { fund } from "../../../support/billing.ts";
import { advance, domainOf, setStored, storedAs, write } from "../../../support/domain-work.ts";
import { connected, domainsRequest, elsewhere, readDomain } from "../../../support/domains.ts";
import { added } from "../../../support/mailboxes.ts";
import { happened, transactions, wallet } from "../../../support/purchases.ts";
import { advanceAt, daysFrom, lookWith, ownedName, registrationAt, renew, renewed } from "../../../support/renewals.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const told = async (account: Account): Promise<string[]> =>
  (await happened(account)).filter((type) => /^domain\.(?:renew|expiring|released|regained)/.test(type));

/** The events of a failed renewal, sorted by name. Both have the same time, so their order can vary. */
const failureEvents = ["domain.expiring", "domain.renewal_failed"];

/** The stored end of a name's registration. */
const endOf = async (account: Account, name: string): Promise<string> =>
  (await storedAs(account, name)).registration?.expires_at ?? "";

/** Runs the worker on a domain `days` days after the end of its registration, or before the end if negative. */
const onDay = (account: Account, name: string, end: string, days: number) =>
  advanceAt(account, name, daysFrom(end, days));

/** A name whose account has switched automatic renewal off. `left` is the money in its wallet, in minor units. */
async function leftAlone(left = 10_000) {
  const { account, name } = await ownedName("", left);
  const { status, text } = await domainsRequest(account, "PATCH", `/${name}`, { auto_renew: false });
  if (status !== 200) throw new Error(text);
  await advance(account, name);
  return { account, name, end: await endOf(account, name) };
}

describe("automatic renewal:", () => {
  test("a name is renewed once, for a year, 30 days before its end, and no notice says that it ends", async () => {
    const { account, name } = await ownedName();
    await advance(account, name);
    const end = await endOf(account, name);
    expect(await onDay(account, name, end, -30.01)).not.toHaveProperty("renewal");
    await onDay(account, name, end, -30);
    await renewed(account, name);
    expect(await storedAs(account, name)).toMatchObject({
      status: "active",
      auto_renew: true,
      renewal: { stage: "captured", by: "auto", years: 1, price: 1_400 },
    });
    const later = await endOf(account, name);
    expect(new Date(later).getUTCFullYear()).toBe(new Date(end).getUTCFullYear() + 1);
    for (const days of [-29, -7, -1, 0, 1]) await onDay(account, name, end, days);
    expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
    expect((await transactions(account)).at(-1)).toBe(`purchase settled 14.00 Renewal of ${name} for a year`);
    expect(await told(account)).toEqual(["domain.renewed"]);
  });

  test("a renewal without an outcome stops no notice, and after the redemption its money is free and the domain is released", async () => {
    const { account, name } = await ownedName("renewal-silent-");
    await advance(account, name);
    const end = await endOf(account, name);
    await onDay(account, name, end, -30);
    expect(await wallet(account)).toEqual({ posted: 10_000, available: 8_600 });
    for (const days of [-29.99, -28, -7, -1, 0, 29]) await onDay(account, name, end, days);
    const days = (await happened(account)).filter((type) => type === "domain.expiring");
    expect(days).toHaveLength(5);
    const held = await onDay(account, name, end, 59);
    expect(held).toMatchObject({ status: "active", renewal: { stage: "asked" } });
    expect(Date.parse(held?.due_at ?? "") - daysFrom(end, 59).getTime()).toBeLessThanOrEqual(3_600_000);
    expect((await readHolder(testTable(), name))?.firm).toBe(true);
    for (const late of [61, 61.1]) await onDay(account, name, end, late);
    expect((await told(account)).slice(-2)).toEqual(["domain.renewal_failed", "domain.released"]);
    expect(await wallet(account)).toEqual({ posted: 10_000, available: 10_000 });
  });

  test("with the setting off, a name is due 30, 7, 1 and 0 days before its end, 7, 1 and 0 days before the end of its grace, and at the end of its redemption", async () => {
    const { account, name, end } = await leftAlone();
    for (const days of [-30, -7, -1, 0, 23, 29, 30]) {
      const { due_at } = (await onDay(account, name, end, days - 0.1)) ?? {};
      expect(due_at).toBe(daysFrom(end, days).toISOString());
    }
    expect((await onDay(account, name, end, 59.9))?.due_at).toBe(daysFrom(end, 60).toISOString());
  });

  test("a renewal is tried once a day while the wallet lacks money, even in grace, but not in redemption", async () => {
    const { account, name } = await ownedName("", 1_399);
    await advance(account, name);
    const end = await endOf(account, name);
    await onDay(account, name, end, -30);
    expect((await readDomain(account, name)).renewal).toMatchObject({
      status: "failed",
      by: "auto",
      reason: "The renewal costs 14.00 USD. The wallet lacks 0.01 USD.",
    });
    expect((await told(account)).toSorted()).toEqual(failureEvents);
    await onDay(account, name, end, -29.5);
    expect(await told(account)).toHaveLength(2);
    await onDay(account, name, end, -29);
    expect(await told(account)).toHaveLength(3);
    await onDay(account, name, end, 40);
    expect((await storedAs(account, name)).status).toBe("expired");
    expect(await told(account)).toHaveLength(3);

    const other = await ownedName("", 0);
    await advance(other.account, other.name);
    const itsEnd = await endOf(other.account, other.name);
    await onDay(other.account, other.name, itsEnd, 1);
    await fund(other.account, 1_400);
    await onDay(other.account, other.name, itsEnd, 2);
    await renewed(other.account, other.name);
    await lookWith(other.account, other.name);
    expect(await storedAs(other.account, other.name)).toMatchObject({
      status: "active",
      registration: { status: "active" },
      renewal: { stage: "captured" },
    });
  });

  test("a name is not renewed while the setting is off, and is renewed once the setting is on again", async () => {
    const { account, name, end } = await leftAlone();
    for (const days of [-30, -1, 10]) await onDay(account, name, end, days);
    expect(await storedAs(account, name)).not.toHaveProperty("renewal");
    expect(await wallet(account)).toEqual({ posted: 10_000, available: 10_000 });
    expect((await domainsRequest(account, "PATCH", `/${name}`, { auto_renew: true })).status).toBe(200);
    await onDay(account, name, end, 11);
    expect(await storedAs(account, name)).toMatchObject({ renewal: { by: "auto" } });
  });

  test.each([
    ["suspended", "is renewed, and its price is taken", { stage: "captured", by: "auto", price: 1_400 }, 1_400],
    ["closed", "is not renewed, and no money is taken", undefined, 0],
  ] as const)("a name of a %s account %s", async (status, _, renewal, price) => {
    const { account, name } = await ownedName();
    await advance(account, name);
    const end = await endOf(account, name);
    await setAccountStatus(testTable(), account.id, status, new Date());
    const { posted } = await wallet(account);
    await onDay(account, name, end, -30);
    await renewed(account, name);
    const after = await storedAs(account, name);
    expect({ renewal: after.renewal }).toMatchObject({ renewal });
    expect(await wallet(account)).toEqual({ posted: posted - price, available: posted - price });
  });

  test("a renewal fails with an event if the account does not pay in the registrar's currency", async () => {
    const { account, name } = await ownedName();
    await advance(account, name);
    await write({ update: accountKey(account.id), set: { currency: "EUR" } });
    await onDay(account, name, await endOf(account, name), -30);
    expect((await readDomain(account, name)).renewal).toMatchObject({
      status: "failed",
      reason: expect.stringContaining("EUR"),
    });
    expect((await told(account)).toSorted()).toEqual(failureEvents);
  });

  test("a renewal fails with an event if the registry gives no price, and stays due if the registrar does not answer", async () => {
    const { account, name } = await ownedName();
    await advance(account, name);
    const due_at = daysFrom(await endOf(account, name), -29).toISOString();
    await setStored(account, name, { due_at });
    const silent = new Problem("upstream_unavailable", "The registrar does not answer.", { retry_after: 1 });
    await expect(lookWith(account, name, { fees: () => Promise.reject(silent) })).rejects.toThrow("does not answer");
    expect(await storedAs(account, name)).toMatchObject({ due_at });
    await lookWith(account, name, { fees: async () => undefined });
    expect((await readDomain(account, name)).renewal).toMatchObject({
      status: "failed",
      reason: /gives no price/,
      price: "0.00",
      restore_fee: "0.00",
    });
    expect((await told(account)).toSorted()).toEqual(failureEvents);
  });
});

test("a name whose settings the registrar refuses to correct is renewed, and its registration is up to date", async () => {
  const { account, name } = await ownedName();
  await advance(account, name);
  const due_at = daysFrom(await endOf(account, name), -29).toISOString();
  await setStored(account, name, { due_at });
  const plain = embeddedRegistrar(testTable(), () => new Date(due_at));
  const refuse = () => Promise.reject(Object.assign(new Error("The name is on hold."), { name: "TLDRulesViolation" }));
  const found = { nameservers: ["ns.elsewhere.test"], statuses: ["clientHold"], autoRenew: true, privacy: false };
  await lookWith(account, name, {
    registration: async (given) => ({ ...((await plain.registration(given)) as Registration), ...found }),
    setNameservers: refuse,
    stopAutoRenew: refuse,
    setLock: refuse,
    setPrivacy: refuse,
  });
  expect(await storedAs(account, name)).toMatchObject({
    registration: { registrar_status: ["clientHold"] },
    renewal: { stage: "captured", by: "auto" },
  });
});

test("health and dns_setup tell that the registrar refused our nameservers, until a later check sets them", async () => {
  const { account, name } = await ownedName();
  await write({ update: registeredNameKey(name), set: { nameservers: elsewhere } });
  const { nameservers } = await storedAs(account, name);
  const messages = async () => {
    const health = await domainsRequest(account, "GET", `/${name}/health`);
    const setup = await domainsRequest(account, "GET", `/${name}/dns-setup`);
    return [health.body.checks[0].message, setup.body.records[0].message];
  };
  const events = (await happened(account)).length;
  await lookWith(account, name, { setNameservers: () => Promise.reject(new Error("Not authorized: 4711.")) });
  for (const message of await messages()) expect(message).toContain("we ask its registry to delegate it to");
  await lookWith(account, name, { setNameservers: () => Promise.reject(new Refused("The registry says no to 4711.")) });
  const refused = `${name} is registered here, but our registrar has refused to delegate it to ${nameservers.join(" and ")}. We try again with each check of the domain. Write to us if this takes longer than a day.`;
  expect(await messages()).toEqual([refused, refused]);
  expect(await happened(account)).toHaveLength(events);
  await lookWith(account, name);
  await write({ update: registeredNameKey(name), set: { nameservers: elsewhere } });
  for (const message of await messages()) expect(message).toContain("we ask its registry to delegate it to");
});

test("each notice is sent once, and again if the registration gets a new end", async () => {
  const { account, name, end } = await leftAlone();
  const counts: number[] = [];
  for (const days of [-31, -30, -29, -8, -7, -6, -1, -0.5, 0, 1, 22, 23, 24, 29, 29.5]) {
    await onDay(account, name, end, days);
    counts.push((await told(account)).length);
  }
  expect(counts).toEqual([0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6]);
  const { account: late, name: other, end: itsEnd } = await leftAlone();
  await onDay(late, other, itsEnd, -0.5);
  expect(await told(late)).toEqual(["domain.expiring"]);
  await renew(late, other);
  await renewed(late, other);
  await onDay(late, other, await endOf(late, other), -7);
  expect((await told(late)).toSorted()).toEqual(["domain.expiring", "domain.expiring", "domain.renewed"]);
});

test.each([
  ["renewal", true],
  ["notice", false],
])(
  "if a domain is changed while the worker looks at it, there is no %s, and the domain stays due",
  async (_, auto_renew) => {
    const { account, name, end } = await leftAlone();
    const due_at = daysFrom(end, -7).toISOString();
    await setStored(account, name, { due_at, auto_renew });
    const { id, version } = await storedAs(account, name);
    const plain = embeddedRegistrar(testTable(), () => new Date(due_at));
    await lookWith(account, name, {
      registration: async (given) => {
        await write({ update: domainKey(account.id, id), add: { version: 1 } });
        return plain.registration(given);
      },
    });
    expect(await storedAs(account, name)).toMatchObject({ due_at, version: version + 1 });
    expect(await told(account)).toEqual([]);
  },
);

describe("after the end of its registration", () => {
  test("a domain is active in grace, and expired in redemption", async () => {
    const { account, name, end } = await leftAlone();
    await onDay(account, name, end, 1);
    expect(await readDomain(account, name)).toMatchObject({
      status: "active",
      outbound_routing_ready: true,
      registration: {
        status: "grace",
        registrar_status: ["clientTransferProhibited", "autoRenewPeriod"],
        grace_ends_at: daysFrom(end, 30).toISOString(),
      },
    });
    await onDay(account, name, end, 31);
    expect(await readDomain(account, name)).toMatchObject({
      status: "expired",
      status_reason: "The domain's registration has ended.",
      outbound_routing_ready: false,
      registration: { status: "redemption", redemption_ends_at: daysFrom(end, 60).toISOString() },
    });
    expect(await happened(account)).toContain("domain.expired");
    expect(await readHolder(testTable(), name)).toMatchObject({ account_id: account.id, firm: true });
  });

  test("a name that was not renewed is free for other accounts, and its mailboxes are kept for 30 days at most", async () => {
    const { account, name, end } = await leftAlone();
    const mailbox = await added(account, name);
    const { id } = await storedAs(account, name);
    await onDay(account, name, end, 60);
    expect(await readDomain(account, name)).toMatchObject({
      status: "releasing",
      status_reason: "The registration of the name ended, and was not renewed.",
      deletes_at: daysFrom(end, 90).toISOString(),
      registration: { status: "expired" },
    });
    expect(await readHolder(testTable(), name)).toBeUndefined();
    expect((await told(account)).at(-1)).toBe("domain.released");
    await advance(account, name);
    expect(await domainOf(account, id)).toMatchObject({ mailbox_count: 1, due_at: daysFrom(end, 90).toISOString() });
    const other = await connected(await newAccount(), { name });
    await advance(account, name);
    expect(await domainOf(account, id)).toBeUndefined();
    expect(await readHolder(testTable(), name)).toMatchObject({ domain_id: other.id });
    expect(mailbox.id).toBeDefined();
  });

  test("the same account gets the domain back with its mailboxes if it connects the name again", async () => {
    const { account, name, end } = await leftAlone();
    const mailbox = await added(account, name);
    const { id, workspace_id } = await storedAs(account, name);
    await onDay(account, name, end, 60);
    await advance(account, name);
    const { status, body } = await domainsRequest(account, "POST", "", { name, workspace_id });
    expect([status, body]).toMatchObject([201, { id, source: "connected", registration: null, deletes_at: null }]);
    expect((await readDomain(account, name)).mailboxes).toMatchObject([{ id: mailbox.id }]);
    expect(await told(account)).toEqual(expect.arrayContaining(["domain.released", "domain.regained"]));
  });
});

test("a renewal in redemption makes the domain active again", async () => {
  const { account, name, end } = await leftAlone();
  const at = daysFrom(end, 31);
  await advanceAt(account, name, at);
  expect(await storedAs(account, name)).toMatchObject({ status: "expired" });
  const registrar = embeddedRegistrar(testTable(), () => at);
  await registrar.renew({ name, years: 1, expiresAt: end, restore: true });
  expect(await advanceAt(account, name, at)).toMatchObject({
    status: "active",
    status_reason: null,
    registration: { status: "active", expires_at: (await registrationAt(name, at)).expiresAt },
  });
});
