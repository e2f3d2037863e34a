import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { contact, domainsRequest, funded, listedDomains, purchase, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/doors.ts";
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
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount } from "../../support/world.ts";

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
    expect((await listedDomains(account)).total).toBe(3);
  });

  test("purchases together do not spend more than there is", async () => {
    const account = await buyer(4_200);
    const answers = await Promise.all(Array.from({ length: 5 }, () => purchase(account, [uniqueName()])));
    const statuses = answers.flatMap(({ body }) => body.results.map((one: { status: string }) => one.status));
    expect(statuses.filter((status) => status === "pending_registration")).toHaveLength(3);
    expect(await wallet(account)).toEqual({ posted: 4_200, available: 0 });
  });
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
      expect((await listedDomains(account)).total).toBe(bought + 7);
    },
  );
});
