import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { noPermissions } from "../../../shared/auth/permissions.ts";
import { Problem } from "../../../shared/core/errors.ts";
import { createLog } from "../../../shared/core/log.ts";
import { purchaseDomains } from "../../../shared/domains/purchase/purchase.ts";
import { systemWriter } from "../../../shared/domains/setup/work.ts";
import type { Context } from "../../../shared/http/route.ts";
import { balanceKey } from "../../../shared/ledger/ledger.ts";
import type { Payments } from "../../../shared/providers/payments/payments.ts";
import { embeddedRegistrar } from "../../../shared/providers/registrar/embedded.ts";
import { walletOf } from "../../../shared/wallet/wallet.ts";
import { newWorkspace } from "../../support/auth.ts";
import { afterReading } from "../../support/between.ts";
import { contact, domainsRequest, funded, listedDomains, purchase, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { withFault } from "../../support/faults.ts";
import {
  batchesDue,
  buyer,
  continued,
  happened,
  pay,
  registered,
  transactions,
  wallet,
} from "../../support/purchases.ts";
import type { Answer } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, testTable } from "../../support/world.ts";

const log = createLog("silent", {});

/** The result of one name: its error code, or its status if there is no error. */
const resultOf = ({ results }: Answer["body"], name: string): string => {
  const found = (results as { domain_name: string; status: string; error_code: string | null }[]).find(
    ({ domain_name }) => domain_name === name,
  );
  return found?.error_code ?? found?.status ?? "nothing";
};

describe("a wallet that is short", () => {
  test("holds nothing for the purchase; once the rest is paid, the purchase continues only once", async () => {
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
    expect([(await listedDomains(account)).total, await batchesDue(account)]).toEqual([0, []]);

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

  test("that lacks one cent is topped up by 1.00, the least amount of a checkout", async () => {
    const account = await buyer(1_399);
    const { body } = await purchase(account, [uniqueName()]);
    await pay(account, body.payment_url);
    expect((await wallet(account)).posted).toBe(1_499);
  });

  test("lets the unpaid names fail if the payment provider does not answer, or the whole purchase if no name was bought", async () => {
    const account = await buyer(2_800);
    const workspace_id = await newWorkspace(account, "Here");
    const [table, now] = [testTable(), () => new Date()];
    const permissions = { ...noPermissions, member: true, everything: true };
    const context = { ...systemWriter({ table, now }, account.id), permissions, log } as unknown as Context;
    const silence = new Problem("upstream_unavailable", "The payment provider does not answer.", { retry_after: 1 });
    const payments = { createCheckout: () => Promise.reject(silence) } as unknown as Payments;
    const checkouts = () => ({ payments, publicUrl: "http://here" });
    const services = { registrar: embeddedRegistrar(table, now), checkouts };
    const buy = (domains: string[]) =>
      purchaseDomains(account.id, { domains, workspace_id, contact_info: contact }, context, services);
    // Another purchase spends the money for one of the two names after this purchase has read the wallet.
    const { PK, SK } = balanceKey(walletOf(account.id), "wallet");
    const { results, payment_url } = await afterReading(
      (key) => key.PK === PK && key.SK === SK,
      async () => expect((await purchase(account, [uniqueName()])).body.successful_count).toBe(1),
      () => buy([uniqueName(), uniqueName()]),
    );
    expect([results, payment_url]).toMatchObject([
      [
        { status: "pending_registration", error_code: null },
        { status: "failed", error_code: "insufficient_funds" },
      ],
      null,
    ]);
    await expect(buy([uniqueName()])).rejects.toBe(silence);
    expect([await wallet(account), (await listedDomains(account)).total]).toEqual([{ posted: 2_800, available: 0 }, 2]);
  });

  test("counts held amounts as spent", async () => {
    const account = await buyer(2_000);
    expect((await purchase(account, [uniqueName()])).body.successful_count).toBe(1);
    expect((await purchase(account, [uniqueName()])).body.results).toMatchObject([{ status: "payment_required" }]);
    expect((await wallet(account)).available).toBe(600);
  });
});

describe("at the same time", () => {
  test("two accounts buy a name: one gets the name, and the other keeps its money", async () => {
    const accounts = [await buyer(), await buyer()];
    const [shared, ...own] = [uniqueName(), uniqueName(), uniqueName()];
    const answers = await Promise.all(accounts.map((account, index) => purchase(account, [shared, own[index] ?? ""])));
    const codes = answers.map(({ body }) => body.results.map((one: { error_code: string }) => one.error_code));
    expect(codes.map((list) => JSON.stringify(list)).toSorted()).toEqual(['["domain_taken",null]', "[null,null]"]);
    const winner = codes.findIndex(([code]) => code === null);
    const money = await Promise.all(accounts.map(wallet));
    expect(money.map(({ available }) => available)).toEqual(
      [0, 1].map((index) => (index === winner ? 97_200 : 98_600)),
    );
  });

  test("concurrent requests of one account buy each name once, and one request reports each success", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const names = [uniqueName(), uniqueName(), uniqueName()];
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => purchase(account, names.toReversed(), { workspace_id })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    for (const name of names) {
      const told = answers.map(({ body }) => resultOf(body, name)).toSorted();
      expect(told).toEqual([...Array(9).fill("domain_exists"), "pending_registration"]);
    }
    expect((await wallet(account)).available).toBe(100_000 - 3 * 1_400);
    expect((await listedDomains(account)).total).toBe(3);
  });

  test("concurrent purchases spend no more than the wallet has, and the late ones get a `payment_url`", async () => {
    const account = await buyer(4_200);
    const lists = Array.from({ length: 4 }, () => [uniqueName(), uniqueName()]);
    const answers = await Promise.all(lists.map((names) => purchase(account, names)));
    const told = answers.flatMap(({ body }, index) => (lists[index] ?? []).map((name) => resultOf(body, name)));
    // A request that finds too little money for both names buys neither. A request that loses the race for the second
    // name keeps the first name.
    const bought = told.filter((status) => status === "pending_registration").length;
    expect([2, 3]).toContain(bought);
    expect(told.filter((status) => status === "payment_required")).toHaveLength(8 - bought);
    expect(await wallet(account)).toEqual({ posted: 4_200, available: 4_200 - bought * 1_400 });
    for (const { body } of answers) {
      const waits = body.results.some((one: { status: string }) => one.status === "payment_required");
      expect(body.payment_url !== null).toBe(waits);
      expect(body).toMatchObject({ failed_count: 0, estimated_total: "28.00" });
      if (waits) await pay(account, body.payment_url);
    }
    await continued(account);
    // Money that was free when a request got its `payment_url` may be spent by then. In this case the paid rest stays
    // in the wallet.
    const [{ total }, { posted, available }] = [await listedDomains(account), await wallet(account)];
    expect(total * 1_400 + available).toBe(posted);
    expect(total === 8 || available < 1_400).toBe(true);
    expect(total).toBeGreaterThan(3);
  });

  test("eight requests share the money for one name: one buys it, and the others get a `payment_url`", async () => {
    const account = await buyer(1_400);
    const answers = await Promise.all(Array.from({ length: 8 }, () => purchase(account, [uniqueName()])));
    const bought = answers.filter(({ body }) => body.successful_count === 1);
    const waiting = answers.filter(({ body }) => body.results[0].status === "payment_required");
    expect([bought.length, waiting.length]).toEqual([1, 7]);
    expect(new Set(waiting.map(({ body }) => body.payment_url)).size).toBe(7);
    const { body } = waiting[0] ?? {};
    await pay(account, body.payment_url);
    await continued(account);
    expect(await registered(account, body.results[0].domain_name)).toMatchObject({ status: "pending_delegation" });
  });
});

describe("a purchase that is sent again with the same key", () => {
  test("gets the same bytes, and holds no more money", async () => {
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

describe("a request that is cut off and sent again without a key", () => {
  const names = () => Array.from({ length: 7 }, () => uniqueName());

  test.each(["answer lost", "lost before"] as const)(
    "buys each name once and loses none, whichever write fails (%s)",
    async (fault) => {
      const account = await funded(await newRoomyAccount(), 1_000_000);
      const workspace_id = await newWorkspace(account, "Here");
      const send = (domains: string[]) => purchase(account, domains, { workspace_id });
      // A run without a fault lists the calls of the table.
      const { calls } = await withFault(undefined, -1, () => send(names()));
      const writes = calls.flatMap((call, at) => (/Transact|Update|Put/.test(call) ? [at] : []));
      expect(writes.length).toBeGreaterThan(2);
      let bought = 0;
      let { available } = await wallet(account);
      for (const at of writes) {
        const domains = names();
        const { value: first } = await withFault(fault, at, () => send(domains));
        const again = await send(domains);
        expect([200, 503], first.text).toContain(first.status);
        for (const name of domains) {
          expect(["pending_registration", "domain_exists"], `${fault} at ${at}`).toContain(resultOf(again.body, name));
        }
        bought += domains.length;
        const expected = available - 7 * 1_400;
        available = (await wallet(account)).available;
        expect(available, `${fault} at ${at}`).toBe(expected);
      }
      expect((await listedDomains(account)).total).toBe(bought + 7);
    },
  );
});
