import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { dayOf, plusDays } from "../../../shared/core/time.ts";
import { readOptions } from "../../../shared/dedicated-ips/stock.ts";
import { firstState, stateKey } from "../../../shared/wallet/state.ts";
import { billing } from "../../support/billing.ts";
import { claimed, holderOf, newOption, send, storedIp } from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { funded } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { happened, transactions, wallet } from "../../support/purchases.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const claim = (account: Account, body: object, options = {}) => send(account, "POST", "/claim", body, options);

const left = async (optionId: string): Promise<number> =>
  (await readOptions(testTable())).find(({ option_id }) => option_id === optionId)?.available ?? 0;

test("takes a free address, and holds the price of the first 30 days", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption(1, { country_code: "NL" });
  const { status, body, headers } = await claim(account, { option_id, name: "  Newsletters " });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: "Newsletters",
    type: "managed",
    status: "provisioning",
    status_reason: null,
    asn: 64_500,
    country_code: "NL",
    ip_addresses: [
      {
        ip: ips[0],
        rdns: null,
        fcrdns_confirmed: false,
        healthy: false,
        message: "The reverse DNS of the address will be checked soon.",
        setup_record: null,
      },
    ],
    domain_count: 0,
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: body.created_at,
  });
  expect(headers["location"]).toBe(`/v1/public/accounts/${account.id}/dedicated-ips/${body.id}`);
  expect(await wallet(account)).toEqual({ posted: 100_000, available: 97_500 });
  expect(await transactions(account)).toContain(`purchase pending 25.00 Dedicated IP ${ips[0]}, the first 30 days`);
  expect(await happened(account)).toEqual(
    expect.arrayContaining(["dedicated_ip.created", "billing.transaction.created"]),
  );
  expect(await holderOf(ips[0] ?? "")).toMatchObject({ state: "taken", account_id: account.id });
  expect(await left(option_id)).toBe(0);
});

test("a dry run answers 200 with the costs of a claim, and changes nothing", async () => {
  const account = await funded(await newAccount());
  const { option_id, ips } = await newOption(1);
  const before = await storedOf(account);
  const { status, body, headers } = await claim(account, { option_id, dry_run: true });
  expect([status, headers["location"]]).toEqual([200, undefined]);
  expect(body).toMatchObject({
    status: "provisioning",
    ip_addresses: [{ ip: ips[0] }],
    preview: { held_now: "25.00", charged_now: "0.00", available: "1000.00", missing: "0.00" },
  });
  expect(await storedOf(account)).toEqual(before);
  expect(await left(option_id)).toBe(1);
  const poor = await newAccount();
  const short = await claim(poor, { option_id, dry_run: true });
  expect([short.status, short.body.preview.missing]).toEqual([200, "25.00"]);
  const none = await newOption(0);
  expect((await claim(account, { option_id: none.option_id, dry_run: true })).status).toBe(422);
  expect((await claim(account, { option_id })).body.preview).toBeUndefined();
  expect((await claim(account, { option_id, dry_run: true })).body.code).toBe("out_of_stock");
});

test("a claim without a name gets the reverse name of its address, and costs the price of the plan", async () => {
  const account = await funded(await newAccount());
  await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip" });
  const { id, name } = await claimed(account);
  expect(name).toBe((await storedIp(account, id))?.rdns);
  expect(await wallet(account)).toMatchObject({ available: 90_100 });
});

test("costs the highest price among the plans of the last 30 days and all future plans", async () => {
  const today = dayOf(new Date());
  const cases: [daysAgo: number, price: string][] = [
    [1, "99.00"],
    [30, "99.00"],
    [31, "25.00"],
  ];
  for (const [daysAgo, price] of cases) {
    const account = await funded(await newAccount());
    // The last day on per_dedicated_ip was `daysAgo` days ago.
    const plans = [
      { plan_id: "per_dedicated_ip", from: plusDays(today, -90) },
      { plan_id: "per_mailbox", from: plusDays(today, 1 - daysAgo) },
    ];
    await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), plans, version: 1 } });
    const { option_id } = await newOption();
    const options: { option_id: string; price: string }[] = (await send(account, "GET", "/available-options")).body;
    expect(options.find((one) => one.option_id === option_id)?.price, String(daysAgo)).toBe(price);
    await claimed(account, option_id);
    expect((await wallet(account)).available, String(daysAgo)).toBe(100_000 - Number(price) * 100);
  }
  const account = await funded(await newAccount());
  const effective_date = plusDays(today, 300);
  await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip", effective_date });
  await claimed(account);
  expect((await wallet(account)).available).toBe(90_100);
});

test("of twelve concurrent claims of an account, at least one gets 429", async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 12 }, () => claim(account, { option_id: "none" })));
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(1);
});

test("if twenty accounts claim three addresses at once, three get one each, and the others hold no money", async () => {
  const { option_id, ips } = await newOption(3);
  const accounts = await Promise.all(Array.from({ length: 20 }, async () => funded(await newAccount())));
  const answers = await Promise.all(accounts.map((account) => claim(account, { option_id })));
  const got = answers.filter(({ status }) => status === 201).map(({ body }) => String(body.ip_addresses[0].ip));
  expect(got.toSorted()).toEqual(ips.toSorted());
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.map(({ body }) => body.code)).toEqual(Array.from({ length: 17 }, () => "out_of_stock"));
  for (const [index, account] of accounts.entries()) {
    const isIn = answers[index]?.status === 201;
    expect(await wallet(account)).toEqual({ posted: 100_000, available: isIn ? 97_500 : 100_000 });
  }
});

test("if an account makes twenty claims at once, it gets as many addresses as its money pays for", async () => {
  const account = await newRoomyAccount();
  await funded(account, 12_500);
  const { option_id } = await newOption(12);
  const answers = await Promise.all(Array.from({ length: 20 }, () => claim(account, { option_id })));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
  const codes = new Set(answers.flatMap(({ status, body }) => (status === 201 ? [] : [body.code])));
  expect([...codes]).toEqual(["insufficient_funds"]);
  expect(await left(option_id)).toBe(7);
  expect((await send(account, "GET")).body.total).toBe(5);
});

test("a claim without enough money changes nothing, and shows the available and the missing amount", async () => {
  const account = await funded(await newAccount(), 2_499);
  const { option_id } = await newOption();
  const before = await storedOf(account);
  const { body } = await claim(account, { option_id });
  expect(body).toMatchObject({
    status: 409,
    code: "insufficient_funds",
    available: "24.99",
    required: "25.00",
    missing: "0.01",
  });
  expect(await storedOf(account)).toEqual(before);
  expect(await left(option_id)).toBe(1);
});

test("is refused without a plan, with a cancelled plan, and above the limit", async () => {
  const { option_id } = await newOption(2);
  // A plan that begins later is not enough.
  const changing = { plan_id: "per_mailbox", effective_date: plusDays(dayOf(new Date()), 60) };
  for (const [when, code] of [
    [{ cancel_immediately: true }, "plan_required"],
    [{}, "plan_cancelled"],
  ] as const) {
    const cancelled = await funded(await newAccount());
    await billing(cancelled, "POST", "cancel-plan", when);
    expect((await claim(cancelled, { option_id })).body).toMatchObject({ status: 409, code });
    await billing(cancelled, "POST", "change-plan", changing);
    expect((await claim(cancelled, { option_id })).body).toMatchObject({ status: 409, code });
  }
  const full = await funded(await newAccount());
  await claimed(full);
  const head = { PK: `ACCOUNT#${full.id}`, SK: "LIST#dedicated_ips#HEAD" };
  await write({ update: head, set: { live: 100 } });
  expect((await claim(full, { option_id })).body).toMatchObject({ status: 409, code: "limit_reached" });
});

test("refuses invalid values, and `loc` names the member of each", async () => {
  const account = await newRoomyAccount();
  const { option_id } = await newOption();
  const cases: [body: object, member: string, type: string][] = [
    [{}, "option_id", "missing"],
    [{ option_id: "no-such-option" }, "option_id", "not_found"],
    [{ option_id: "OPTION#x" }, "option_id", "string_pattern_mismatch"],
    [{ option_id: "" }, "option_id", "string_pattern_mismatch"],
    [{ option_id, name: " " }, "name", "string_too_short"],
    [{ option_id, name: "a".repeat(101) }, "name", "string_too_long"],
    [{ option_id, ip: "45.0.0.1" }, "ip", "extra_forbidden"],
  ];
  for (const [body, member, type] of cases) {
    const answer = await claim(account, body);
    expect([answer.status, answer.body.detail], JSON.stringify(body)).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], type })],
    ]);
  }
});

test("a repeated request with the same idempotency key claims no second address", async () => {
  const account = await funded(await newAccount());
  const { option_id } = await newOption(2);
  const headers = { "idempotency-key": randomUUID() };
  const [one, other] = [
    await claim(account, { option_id }, { headers }),
    await claim(account, { option_id }, { headers }),
  ];
  expect(other.text).toBe(one.text);
  expect(await left(option_id)).toBe(1);
  expect(await wallet(account)).toMatchObject({ available: 97_500 });
});
