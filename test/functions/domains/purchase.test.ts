import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/accounts/operate.ts";
import { newWorkspace } from "../../support/auth.ts";
import { advance, dig, quicklyActive } from "../../support/domain-work.ts";
import { connected, contact, domainsRequest, funded, purchase, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
import { withFault } from "../../support/faults.ts";
import { batchesDue, continued, happened, pay, registered, transactions, wallet } from "../../support/purchases.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const buyer = async (cents = 100_000): Promise<Account> => funded(await newAccount(), cents);
const listed = async (account: Account) => (await domainsRequest(account, "GET", "?page_size=100")).body;
const read = async (account: Account, name: string) => (await domainsRequest(account, "GET", `/${name}`)).body;

test("holds the price, has the names registered, takes the money once, and they become active", async () => {
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
    payment_url: null,
    purchase_batch_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(purchase_batch_id).not.toBe(results[0].id);
  expect(await read(account, one)).toMatchObject({
    id: results[0].id,
    source: "purchased",
    auto_renew: false,
    registration: { expires_at: null, locked: false },
  });
  expect(await wallet(account)).toEqual({ posted: 10_000, available: 7_300 });
  const [held] = (await transactions(account)).slice(1);
  expect(held).toBe(`purchase pending 14.00 Registration of ${one} for a year`);

  for (const name of [one, other])
    expect(await registered(account, name)).toMatchObject({ status: "pending_delegation" });
  expect(await wallet(account)).toEqual({ posted: 7_300, available: 7_300 });
  expect(await advance(account, one)).toMatchObject({ status: "active" });
  expect(await read(account, one)).toMatchObject({
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
    expect((await listed(account)).total).toBe(3);
  });

  test("can fail: then nothing is held, and there is no purchase", async () => {
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

  test("that is being bought already is not bought twice by the same request", async () => {
    const account = await buyer();
    const names = [uniqueName(), uniqueName()];
    const workspace_id = await newWorkspace(account, "Here");
    const first = await purchase(account, names, { workspace_id });
    const again = await purchase(account, names, { workspace_id });
    expect(again.body.results).toEqual(first.body.results);
    expect((await wallet(account)).available).toBe(100_000 - 2_800);
    await registered(account, names[0] ?? "");
    const later = await purchase(account, names, { workspace_id });
    expect(later.body.results).toMatchObject([{ error_code: "domain_exists" }, { status: "pending_registration" }]);
    expect((await listed(account)).total).toBe(2);
  });
});

describe("a quote", () => {
  test("above what was agreed is a 409 that says the price, and changes nothing", async () => {
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

  test("counts only what can be bought", async () => {
    const account = await buyer();
    const names = [uniqueName(), `taken-${uniqueName()}`, `premium-${uniqueName()}`];
    expect((await purchase(account, names, { max_total: "14.00" })).body).toMatchObject({ successful_count: 1 });
  });
});

describe("a wallet that is short", () => {
  test("has nothing held; once the rest is paid the purchase goes on, and once only", async () => {
    const account = await buyer(1_000);
    const names = [uniqueName(), uniqueName("d", "net"), `taken-${uniqueName()}`];
    const { body } = await purchase(account, names);
    expect(body).toMatchObject({
      results: [{ status: "payment_required", id: null }, { status: "payment_required" }, { status: "failed" }],
      successful_count: 0,
      failed_count: 1,
      estimated_total: "30.00",
      payment_url: expect.stringMatching(/^http/),
    });
    expect(await wallet(account)).toEqual({ posted: 1_000, available: 1_000 });
    expect([(await listed(account)).total, await batchesDue(account)]).toEqual([0, []]);

    await pay(account, body.payment_url);
    await pay(account, body.payment_url);
    expect(await wallet(account)).toEqual({ posted: 3_000, available: 3_000 });
    expect(await batchesDue(account)).toMatchObject([{ batchId: body.purchase_batch_id }]);
    await continued(account);
    await continued(account);
    expect(await wallet(account)).toEqual({ posted: 3_000, available: 0 });
    for (const name of names.slice(0, 2)) await registered(account, name);
    expect(await wallet(account)).toEqual({ posted: 0, available: 0 });
    expect(await transactions(account)).toEqual([
      "topup settled 10.00 Test money",
      "topup settled 20.00 Top-up",
      `purchase settled 14.00 Registration of ${names[0]} for a year`,
      `purchase settled 16.00 Registration of ${names[1]} for a year`,
    ]);
    expect(await batchesDue(account)).toEqual([]);
    expect((await happened(account)).filter((type) => type === "domain_purchase.continued")).toHaveLength(1);
  });

  test("of cents is topped up by no less than a checkout can take", async () => {
    const account = await buyer(1_399);
    const { body } = await purchase(account, [uniqueName()]);
    await pay(account, body.payment_url);
    expect((await wallet(account)).posted).toBe(1_499);
  });

  test("counts what is held as spent", async () => {
    const account = await buyer(2_000);
    expect((await purchase(account, [uniqueName()])).body.successful_count).toBe(1);
    expect((await purchase(account, [uniqueName()])).body.results).toMatchObject([{ status: "payment_required" }]);
    expect((await wallet(account)).available).toBe(600);
  });
});

describe("at the same time", () => {
  test("of two accounts that buy a name one gets it, and the other keeps its money", async () => {
    const accounts = [await buyer(), await buyer()];
    const [shared, ...own] = [uniqueName(), uniqueName(), uniqueName()];
    const answers = await Promise.all(accounts.map((account, index) => purchase(account, [shared, own[index] ?? ""])));
    const codes = answers.map(({ body }) => body.results.map((one: { error_code: string }) => one.error_code));
    expect(codes.map((own) => JSON.stringify(own)).toSorted()).toEqual(['["domain_taken",null]', "[null,null]"]);
    const winner = codes.findIndex(([code]) => code === null);
    const money = await Promise.all(accounts.map(wallet));
    expect(money.map(({ available }) => available)).toEqual(
      [0, 1].map((index) => (index === winner ? 97_200 : 98_600)),
    );
  });

  test("requests of one account for the same names buy each once", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const names = [uniqueName(), uniqueName(), uniqueName()];
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => purchase(account, names.toReversed(), { workspace_id })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await wallet(account)).available).toBe(100_000 - 3 * 1_400);
    expect((await listed(account)).total).toBe(3);
  });

  test("purchases together do not spend more than there is", async () => {
    const account = await buyer(4_200);
    const answers = await Promise.all(Array.from({ length: 5 }, () => purchase(account, [uniqueName()])));
    const statuses = answers.flatMap(({ body }) => body.results.map((one: { status: string }) => one.status));
    expect(statuses.filter((status) => status === "pending_registration")).toHaveLength(3);
    expect(await wallet(account)).toEqual({ posted: 4_200, available: 0 });
  });
});

test("buys fifty names in one request", async () => {
  const account = await buyer();
  const names = Array.from({ length: 50 }, () => uniqueName());
  const { body } = await purchase(account, names);
  expect(body).toMatchObject({ successful_count: 50, failed_count: 0, estimated_total: "700.00" });
  expect(body.results.map((one: { domain_name: string }) => one.domain_name)).toEqual(names);
  expect((await listed(account)).total).toBe(50);
  expect((await wallet(account)).available).toBe(30_000);
});

describe("refused at its place", () => {
  let account: Account;
  let workspace_id: string;
  beforeAll(async () => {
    account = await funded(await newRoomyAccount(), 100_000);
    workspace_id = await newWorkspace(account, "Here");
  });
  const send = (body: object) =>
    domainsRequest(account, "POST", "/purchase", {
      workspace_id,
      domains: [uniqueName()],
      contact_info: contact,
      ...body,
    });

  test.each<[body: object, loc: (string | number)[], type: string]>([
    [{ domains: [] }, ["domains"], "too_short"],
    [{ domains: Array.from({ length: 51 }, (_, index) => `name-${index}.com`) }, ["domains"], "too_long"],
    [{ domains: "example.com" }, ["domains"], "array_type"],
    [{ domains: ["ok-name.com", "no name"] }, ["domains", 1], "value_error"],
    [{ domains: ["co.uk"] }, ["domains", 0], "value_error"],
    [{ domains: ["name.test"] }, ["domains", 0], "value_error"],
    [{ domains: [`${"x".repeat(64)}.com`] }, ["domains", 0], "value_error"],
    [{ domains: [7] }, ["domains", 0], "string_type"],
    [{ contact_info: undefined }, ["contact_info"], "missing"],
    [{ workspace_id: undefined }, ["workspace_id"], "missing"],
    [{ workspace_id: randomUUID() }, ["workspace_id"], "not_found"],
    [{ max_total: "0" }, ["max_total"], "value_error"],
    [{ max_total: "50000.01" }, ["max_total"], "value_error"],
    [{ max_total: null }, ["max_total"], "value_error"],
    [{ years: 2 }, ["years"], "extra_forbidden"],
  ])("%#: $1", async (body, loc, type) => {
    const answer = await send(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["body", ...loc], type, msg: expect.any(String) }]);
  });

  test.each<[member: string, value: unknown, message: RegExp]>([
    ["first_name", "", /./],
    ["last_name", "  ", /./],
    ["organization", "x".repeat(256), /./],
    ["email", "ada", /./],
    ["email", "ada@example.com\n", /./],
    ["phone", "14155552671", /E\.164/],
    ["phone", "+1 415 555 2671", /E\.164/],
    ["phone", "+1415555", /telephone number/],
    ["phone", "+999123456789", /telephone number/],
    ["address_1", "a\u0000b", /control/],
    ["city", "\u200b", /seen/],
    ["state", undefined, /required/],
    ["zip", "9".repeat(33), /./],
    ["zip", 94_105, /string/],
    ["country", "USA", /two capital letters/],
    ["country", "us", /two capital letters/],
    ["country", "XX", /no country code/],
    ["country", "UK", /no country code/],
    ["country", "XK", /no country code/],
    ["fax", "+14155552671", /not known/],
  ])("contact: %s %j", async (member, value, message) => {
    const answer = await send({ contact_info: { ...contact, [member]: value } });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([
      { loc: ["body", "contact_info", member], msg: expect.stringMatching(message) },
    ]);
  });

  test("all that is wrong with an empty contact, and nothing of it all was bought", async () => {
    const { body } = await send({ contact_info: {} });
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc[2]).toSorted()).toEqual(Object.keys(contact).toSorted());
    expect(await wallet(account)).toEqual({ posted: 100_000, available: 100_000 });
    expect((await listed(account)).total).toBe(0);
  });

  test.each(["AQ", "GB", "TF", "DE", "AX", "SX", "ZW"])("but not a contact in %s", async (country) => {
    const { body } = await send({ contact_info: { ...contact, country }, domains: [`taken-${uniqueName()}`] });
    expect(body).toMatchObject({ failed_count: 1 });
  });
});

describe("who may", () => {
  test("who purchases for one workspace may for that one; another is as one that is not there", async () => {
    const account = await buyer();
    const [mine, other] = [await newWorkspace(account, "Mine"), await newWorkspace(account, "Other")];
    const member = await newMember(account, { capability: "domain.purchase", scope: { type: "workspace", id: mine } });
    const viewer = await newMember(account, { role: "domain_manager" });
    const as = (workspace_id: string, owner = member) =>
      purchase({ ...account, owner }, [uniqueName()], { workspace_id });
    expect((await as(mine)).body.successful_count).toBe(1);
    const [hidden, missing] = [await as(other), await as(randomUUID())];
    expect([hidden.status, hidden.body]).toEqual([422, missing.body]);
    expect((await as(mine, viewer)).body).toMatchObject({ status: 403, required_capability: "domain.purchase" });
    expect((await wallet(account)).available).toBe(98_600);
  });

  test("nobody while the account is suspended", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    const { body } = await purchase(account, [uniqueName()], { workspace_id });
    expect(body).toMatchObject({ status: 403, code: "account_suspended" });
    expect((await wallet(account)).available).toBe(100_000);
  });
});

test("who registers stands nowhere but in the purchase itself", async () => {
  const account = await buyer(1_500);
  const secret = (member: string): string => `confidential ${member}`;
  const hidden = {
    ...contact,
    ...Object.fromEntries(
      ["first_name", "last_name", "organization", "address_1", "city", "state"].map((one) => [one, secret(one)]),
    ),
    email: "confidential@example.com",
    zip: "confidential",
  };
  const names = [uniqueName(), `refused-${uniqueName()}`];
  const headers = { "idempotency-key": randomUUID() };
  const body = { workspace_id: await newWorkspace(account, "Here"), contact_info: hidden };
  const answers = [
    await domainsRequest(account, "POST", "/purchase", { ...body, domains: [names[0]] }, headers),
    await purchase(account, [names[1] ?? ""], body),
  ];
  await pay(account, answers[1]?.body.payment_url);
  await continued(account);
  await registered(account, names[0] ?? "");
  expect(await registered(account, names[1] ?? "")).toMatchObject({ status: "failed" });
  const kept = await storedOf(account);
  expect(kept.filter((item) => JSON.stringify(item).includes("onfidential")).map(({ SK }) => SK.split("#")[0])).toEqual(
    ["PURCHASE", "PURCHASE"],
  );
  const principal = await testTable().between(`PRINCIPAL#${account.owner.id}`, "!", "~");
  const shown = [
    principal,
    answers.map(({ text }) => text),
    await listed(account),
    await read(account, names[0] ?? ""),
  ];
  expect(JSON.stringify(shown)).not.toContain("onfidential");
  expect(JSON.stringify(shown)).not.toContain(contact.phone);
});

describe("sent again with the same key", () => {
  test("is the same bytes, and holds nothing more", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const body = { workspace_id, domains: [uniqueName(), `taken-${uniqueName()}`], contact_info: contact };
    const headers = { "idempotency-key": randomUUID() };
    const send = (given: object = body) => domainsRequest(account, "POST", "/purchase", given, headers);
    const [first, again] = [await send(), await send()];
    expect([again.status, again.text, again.headers["idempotency-replayed"]]).toEqual([200, first.text, "true"]);
    expect((await wallet(account)).available).toBe(98_600);
    const other = await send({ ...body, contact_info: { ...contact, city: "Elsewhere" } });
    expect(other.body.detail).toMatchObject([{ loc: ["header", "idempotency-key"] }]);
  });

  test("opens no second checkout", async () => {
    const account = await newAccount();
    const body = { workspace_id: await newWorkspace(account, "Here"), domains: [uniqueName()], contact_info: contact };
    const headers = { "idempotency-key": randomUUID() };
    const send = () => domainsRequest(account, "POST", "/purchase", body, headers);
    const [first, again] = [await send(), await send()];
    expect(again.text).toBe(first.text);
    const kept = (await storedOf(account)).map(({ SK }) => SK.split("#")[0]);
    expect(kept.filter((kind) => kind === "TOPUP" || kind === "PURCHASE")).toHaveLength(2);
  });
});

describe("a request that is cut off and sent again", () => {
  const names = () => Array.from({ length: 7 }, () => uniqueName());

  test.each(["answer lost", "lost before"] as const)(
    "buys each name once and loses none, whichever call of the table is the last (%s)",
    async (fault) => {
      const account = await funded(await newRoomyAccount(), 1_000_000);
      const workspace_id = await newWorkspace(account, "Here");
      const send = (domains: string[]) => purchase(account, domains, { workspace_id });
      const { calls } = await withFault(undefined, -1, () => send(names()));
      const writes = calls.flatMap((call, at) => (/Transact|Update|Put/.test(call) ? [at] : []));
      expect(writes.length).toBeGreaterThan(2);
      let [bought, { available }] = [0, await wallet(account)];
      for (const at of writes) {
        const domains = names();
        const { value: first } = await withFault(fault, at, () => send(domains));
        const again = await send(domains);
        expect([200, 503], first.text).toContain(first.status);
        expect(again.body, `${fault} at ${at}`).toMatchObject({ successful_count: 7, failed_count: 0 });
        bought += domains.length;
        const held = available - 7 * 1_400;
        ({ available } = await wallet(account));
        expect(available, `${fault} at ${at}`).toBe(held);
      }
      expect((await listed(account)).total).toBe(bought + 7);
    },
  );
});
