import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { registeredNameKey } from "../../../shared/providers/registrar/embedded-names.ts";
import { afterReading } from "../../support/between.ts";
import { storedAs } from "../../support/domain-work.ts";
import { connected, domainsRequest, purchase, readDomain, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { buyer, happened, registered, transactions, wallet } from "../../support/purchases.ts";
import { daysFrom, endAt, ownedName, registrationAt, renew, renewed } from "../../support/renewals.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("holds the price, renews the name, and takes the money once", async () => {
  const { account, name } = await ownedName();
  const { expires_at } = (await storedAs(account, name)).registration ?? {};
  const answer = await renew(account, name, { years: 2, max_total: "28.00" });
  expect(answer.status).toBe(200);
  const running = {
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    status: "running",
    reason: null,
    years: 2,
    price: "28.00",
    restore_fee: "0.00",
    currency: "USD",
    by: "request",
    started_at: expect.stringMatching(/Z$/),
  };
  expect(answer.body).toMatchObject({ name, renewal: running, registration: { expires_at } });
  expect(answer.body).toEqual(await readDomain(account, name));
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 7_200 });

  await renewed(account, name);
  expect(await wallet(account)).toEqual({ posted: 7_200, available: 7_200 });
  const end = (await registrationAt(name)).expiresAt;
  expect(new Date(end).getUTCFullYear()).toBe(new Date(expires_at ?? "").getUTCFullYear() + 2);
  expect(await readDomain(account, name)).toMatchObject({
    renewal: { ...running, id: answer.body.renewal.id, status: "succeeded" },
    registration: { status: "active", expires_at: end, locked: true, privacy: true },
  });
  expect((await transactions(account)).at(-1)).toBe(`purchase settled 28.00 Renewal of ${name} for 2 years`);
  expect((await happened(account)).filter((type) => type === "domain.renewed")).toHaveLength(1);
});

test("a domain shows the statuses and dates of its registration", async () => {
  const { account, name } = await ownedName();
  const { expiresAt } = await registrationAt(name);
  expect((await readDomain(account, name)).registration).toEqual({
    status: "active",
    registrar_status: ["clientTransferProhibited"],
    expires_at: expiresAt,
    grace_ends_at: daysFrom(expiresAt, 30).toISOString(),
    redemption_ends_at: daysFrom(expiresAt, 60).toISOString(),
    locked: true,
    privacy: true,
  });
});

test("a repetition with the same key gets the same renewal, and another request meanwhile gets 409", async () => {
  const { account, name } = await ownedName("slow-");
  const key = { "idempotency-key": randomUUID() };
  const first = await renew(account, name, { years: 1 }, key);
  const again = await renew(account, name, { years: 1 }, key);
  expect([again.status, again.headers["idempotency-replayed"], again.body]).toEqual([200, "true", first.body]);
  expect((await renew(account, name)).body).toMatchObject({ status: 409, code: "renewal_running" });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 8_600 });
  await renewed(account, name);
  expect((await renew(account, name, { years: 1 }, key)).body).toEqual(first.body);
  expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
});

test("a renewal is refused if another renewal ends while it is priced, because its price is then outdated", async () => {
  const { account, name } = await ownedName();
  const { PK, SK } = registeredNameKey(name);
  const late = await afterReading(
    (key) => key.PK === PK && key.SK === SK,
    async () => {
      expect((await renew(account, name)).status).toBe(200);
      await renewed(account, name);
    },
    () => renew(account, name),
  );
  expect(late.body).toMatchObject({ status: 503, code: "busy", retry_after: 1 });
  expect(await wallet(account)).toEqual({ posted: 8_600, available: 8_600 });
  expect((await renew(account, name)).status).toBe(200);
});

test("of many concurrent requests one renews the name", async () => {
  const { account, name } = await ownedName();
  const answers = await Promise.all(Array.from({ length: 5 }, () => renew(account, name)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.code === "renewal_running")).toHaveLength(4);
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 8_600 });
});

describe("a renewal is refused", () => {
  test("when the wallet lacks money, with the missing amount, and changes nothing", async () => {
    const { account, name } = await ownedName("", 1_000);
    const before = await storedOf(account);
    expect((await renew(account, name)).body).toMatchObject({
      status: 409,
      code: "insufficient_funds",
      detail: "The renewal costs 14.00 USD. The wallet lacks 4.00 USD.",
      available: "10.00",
      required: "14.00",
      missing: "4.00",
    });
    expect(await storedOf(account)).toEqual(before);
  });

  test("when the price is above the agreed price, and changes nothing", async () => {
    const { account, name } = await ownedName();
    const before = await storedOf(account);
    const { body } = await renew(account, name, { years: 2, max_total: 27.99 });
    expect(body).toMatchObject({ status: 409, code: "quote_changed", estimated_total: "28.00", currency: "USD" });
    expect(await storedOf(account)).toEqual(before);
  });

  test("when the registration would be longer than ten years", async () => {
    const { account, name } = await ownedName("", 20_000);
    await renew(account, name, { years: 3 });
    await renewed(account, name);
    const { body } = await renew(account, name, { years: 7 });
    expect(body).toMatchObject({ status: 409, code: "too_many_years", max_years: 6 });
    expect((await renew(account, name, { years: 6 })).body).toMatchObject({ renewal: { years: 6 } });
  });

  test("when the domain was not purchased here, is not registered yet, or its registration failed", async () => {
    const { name: own, account } = await connected(await buyer());
    expect((await renew(account, own)).body).toMatchObject({ status: 409, code: "not_registered_here" });
    const bought = uniqueName("refused-");
    await purchase(account, [bought]);
    expect((await renew(account, bought)).body).toMatchObject({ code: "domain_not_ready" });
    await registered(account, bought);
    expect((await renew(account, bought)).body).toMatchObject({ code: "domain_not_ready", domain_status: "failed" });
  });

  test("when the name is not registered any more", async () => {
    const { account, name } = await ownedName();
    await endAt(name, daysFrom(new Date().toISOString(), -60).toISOString());
    const { body } = await renew(account, name);
    expect(body).toMatchObject({ status: 409, code: "domain_not_ready" });
    expect(body.detail).toBe(`${name} is not registered any more. It cannot be renewed.`);
  });

  test.each([
    [{}],
    [{ years: 0 }],
    [{ years: 10 }],
    [{ years: 1.5 }],
    [{ years: 1, max_total: "0" }],
    [{ years: "1" }],
  ])("when the input is %j", async (body) => {
    const { account, name } = await ownedName();
    expect((await renew(account, name, body)).status).toBe(422);
  });
});

test("in grace a renewal has its usual price, and in redemption it also costs the restoration", async () => {
  const { account, name } = await ownedName();
  await endAt(name, daysFrom(new Date().toISOString(), -10).toISOString());
  expect((await renew(account, name)).body.renewal).toMatchObject({ price: "14.00", restore_fee: "0.00" });
  await renewed(account, name);
  expect((await registrationAt(name)).phase).toBe("registered");

  const other = await ownedName();
  await endAt(other.name, daysFrom(new Date().toISOString(), -40).toISOString());
  const { body } = await renew(other.account, other.name, { years: 1, max_total: "93.99" });
  expect(body).toMatchObject({ code: "quote_changed", estimated_total: "94.00" });
  expect((await renew(other.account, other.name)).body.renewal).toMatchObject({ restore_fee: "80.00" });
  await renewed(other.account, other.name);
  expect((await registrationAt(other.name)).phase).toBe("registered");
  expect(await wallet(other.account)).toEqual({ posted: 600, available: 600 });
  expect((await transactions(other.account)).at(-1)).toBe(
    `purchase settled 94.00 Renewal of ${other.name} for a year, with its restoration`,
  );
});

test("a domain is not deleted while it is being renewed", async () => {
  const { account, name } = await ownedName();
  await renew(account, name);
  expect((await domainsRequest(account, "DELETE", `/${name}`)).body).toMatchObject({ code: "domain_not_ready" });
  await renewed(account, name);
  expect((await domainsRequest(account, "DELETE", `/${name}?release=true`)).status).toBe(200);
});

test("needs domain.purchase on the domain", async () => {
  const { account, name } = await ownedName();
  const { id } = await storedAs(account, name);
  const scope = { type: "domain" as const, id };
  const editor = await newMember(account, { role: "editor", scope });
  expect((await renew({ ...account, owner: editor }, name)).body).toMatchObject({
    status: 403,
    required_capability: "domain.purchase",
  });
  const manager = await newMember(account, { role: "manager", scope });
  expect((await renew({ ...account, owner: manager }, name)).status).toBe(200);
  expect((await renew(await newAccount(), name)).status).toBe(404);
});
