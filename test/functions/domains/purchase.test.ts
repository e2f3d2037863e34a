import { describe, expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { advance, dig, quicklyActive } from "../../support/domain-work.ts";
import { connected, listedDomains, purchase, readDomain, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { buyer, happened, registered, transactions, wallet } from "../../support/purchases.ts";
import { newAccount } from "../../support/world.ts";

test("holds the price, registers the names, takes the money once, and the domains become active", async () => {
  const account = await buyer(10_000);
  const [one, other] = [uniqueName(), uniqueName("d", "org")];
  const bought = await purchase(account, [one, other], { max_total: "27.00" });
  expect(bought.status).toBe(200);
  const { results, purchase_batch_id } = bought.body;
  expect(bought.body).toEqual({
    results: [one, other].map((domain_name) => ({
      domain_name,
      status: "pending_registration",
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error: null,
      error_code: null,
    })),
    successful_count: 2,
    failed_count: 0,
    currency: "USD",
    estimated_total: "27.00",
    estimated_vat: "0.00",
    payment_url: null,
    purchase_batch_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(purchase_batch_id).not.toBe(results[0].id);
  expect(await readDomain(account, one)).toMatchObject({
    id: results[0].id,
    source: "purchased",
    auto_renew: true,
    registration: { expires_at: null, locked: false },
  });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 7_300 });
  const [held] = (await transactions(account)).slice(1);
  expect(held).toBe(`purchase pending 14.00 Registration of ${one} for a year`);

  for (const name of [one, other])
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  expect(await wallet(account)).toEqual({ posted: 7_300, available: 7_300 });
  expect(await advance(account, one)).toMatchObject({ status: "active" });
  expect(await readDomain(account, one)).toMatchObject({
    status: "active",
    outbound_routing_ready: true,
    registration: { status: "active", expires_at: expect.stringMatching(/Z$/), locked: true },
    dns_record_count: 7,
  });
  expect(await dig(one, "MX")).toEqual(["10 mx1.hosted-mail.example", "20 mx2.hosted-mail.example"]);
  await advance(account, one);

  expect(await transactions(account)).toEqual([
    "topup settled 100.00 Test money",
    `purchase settled 14.00 Registration of ${one} for a year`,
    `purchase settled 13.00 Registration of ${other} for a year`,
  ]);
  const told = (await happened(account)).filter((type) => /^(?:domain|billing)/.test(type));
  expect(told.toSorted()).toEqual([
    "billing.transaction.created",
    "billing.transaction.created",
    "billing.transaction.updated",
    "billing.transaction.updated",
    "domain.created",
    "domain.created",
    "domain.registered",
    "domain.registered",
    "domain.verified",
  ]);
});

describe("each name", () => {
  test("has its own outcome, in the order of the names", async () => {
    const account = await buyer();
    const theirs = await quicklyActive(await newAccount());
    const mine = await connected(account);
    const label = uniqueName("").replace(".com", "");
    const names = [
      `ok${label}.com`,
      `taken-${label}.com`,
      `premium-${label}.com`,
      `reserved-${label}.com`,
      `ok${label}.museum`,
      `www.ok${label}.com`,
      `OK${label}.com.`,
      mine.name,
      theirs.name,
      `silent-${label}.com`,
      `ok${label}.net`,
    ];
    const { body } = await purchase(account, names);
    const codes = body.results.map((one: { error_code: string | null }) => one.error_code);
    expect(codes).toEqual([
      null,
      "domain_unavailable",
      "domain_premium",
      "domain_reserved",
      "unsupported_tld",
      "not_registrable",
      "duplicate",
      "domain_exists",
      "domain_taken",
      "unchecked",
      null,
    ]);
    const spelled = names.map((name) => name.toLowerCase().replace(/\.$/, ""));
    expect(body.results.map((one: { domain_name: string }) => one.domain_name)).toEqual(spelled);
    for (const { status, error, error_code, id } of body.results) {
      expect(status).toBe(error_code === null ? "pending_registration" : "failed");
      expect(error === null).toBe(error_code === null);
      expect(id === null).toBe(error_code !== null && error_code !== "domain_exists");
    }
    expect(body).toMatchObject({ successful_count: 2, failed_count: 9, estimated_total: "30.00", payment_url: null });
    expect(await wallet(account)).toEqual({ posted: 100_000, available: 97_000 });
    expect((await listedDomains(account)).total).toBe(3);
  });

  test("can fail: a request in which every name fails holds nothing and stores no purchase", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const before = await storedOf(account);
    const label = uniqueName("").replace(".com", "");
    const { body } = await purchase(account, [`taken-${label}.com`, `silent-${label}.com`], { workspace_id });
    expect(body).toMatchObject({
      successful_count: 0,
      failed_count: 2,
      estimated_total: "0.00",
      payment_url: null,
      purchase_batch_id: null,
    });
    const silent = await purchase(account, [`silent-${label}.com`], { workspace_id });
    expect([silent.status, silent.body.code]).toEqual([503, "upstream_unavailable"]);
    expect(Number(silent.headers["retry-after"])).toBeGreaterThan(0);
    expect(await storedOf(account)).toEqual(before);
  });

  test("that is being bought already is not bought again, and the result has the id of its domain", async () => {
    const account = await buyer();
    const names = [uniqueName(), uniqueName()];
    const workspace_id = await newWorkspace(account, "Here");
    const first = await purchase(account, names, { workspace_id });
    const again = await purchase(account, names, { workspace_id });
    const ids = (results: { id: string }[]) => results.map(({ id }) => id);
    expect(ids(again.body.results)).toEqual(ids(first.body.results));
    expect(again.body).toMatchObject({
      results: [
        { status: "failed", error_code: "domain_exists" },
        { status: "failed", error_code: "domain_exists" },
      ],
      estimated_total: "0.00",
      purchase_batch_id: null,
    });
    expect((await wallet(account)).available).toBe(100_000 - 2_800);
    await registered(account, names[0] ?? "");
    const later = await purchase(account, names, { workspace_id });
    expect(later.body.results).toMatchObject([{ error_code: "domain_exists" }, { error_code: "domain_exists" }]);
    expect((await listedDomains(account)).total).toBe(2);
  });
});

describe("a quote", () => {
  test("above the agreed total is a 409 with the price, and changes nothing", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const before = await storedOf(account);
    const names = [uniqueName(), uniqueName("d", "net")];
    for (const max_total of ["29.99", 29.99, "0.01"]) {
      const { body } = await purchase(account, names, { workspace_id, max_total });
      expect(body).toMatchObject({ status: 409, code: "quote_changed", estimated_total: "30.00", currency: "USD" });
    }
    expect(await storedOf(account)).toEqual(before);
    expect((await purchase(account, names, { workspace_id, max_total: 30 })).body.successful_count).toBe(2);
  });

  test("counts only the names that can be bought", async () => {
    const account = await buyer();
    const names = [uniqueName(), `taken-${uniqueName()}`, `premium-${uniqueName()}`];
    expect((await purchase(account, names, { max_total: "14.00" })).body).toMatchObject({ successful_count: 1 });
  });
});

test("buys fifty names in one request", async () => {
  const account = await buyer();
  const names = Array.from({ length: 50 }, () => uniqueName());
  const { body } = await purchase(account, names);
  expect(body).toMatchObject({ successful_count: 50, failed_count: 0, estimated_total: "700.00" });
  expect(body.results.map((one: { domain_name: string }) => one.domain_name)).toEqual(names);
  expect((await listedDomains(account)).total).toBe(50);
  expect((await wallet(account)).available).toBe(30_000);
});
