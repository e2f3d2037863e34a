import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { minorUnits, money } from "../../../shared/core/money.ts";
import { firstState, stateKey } from "../../../shared/wallet/state.ts";
import { newWorkspace } from "../../support/auth.ts";
import { billing, fund } from "../../support/billing.ts";
import { newOption, send } from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { connected, contact, domainsRequest, purchase, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { buyer, wallet } from "../../support/purchases.ts";
import { ownedName, renew } from "../../support/renewals.ts";
import { nameElsewhere, transfer } from "../../support/transfers.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const dry = { dry_run: true };
const held = async (account: Account): Promise<string> =>
  (await billing(account, "GET", "wallet-balance")).body.held as string;

type Result = { domain_name: string; status: string; error_code: string | null };
const short = (results: Result[]) => results.map((one) => [one.domain_name, one.status, one.error_code]);

test("a dry run of a purchase gives the results and the hold of the real purchase, and changes nothing", async () => {
  const orders = fc.record({
    cents: fc.integer({ min: 0, max: 8_000 }),
    prefixes: fc.array(fc.constantFrom("", "", "taken-", "premium-", "refused-", "own-"), {
      minLength: 1,
      maxLength: 6,
    }),
  });
  const check = async ({ cents, prefixes }: { cents: number; prefixes: string[] }) => {
    const account = await newAccount();
    if (cents > 0) await fund(account, cents);
    const workspace_id = await newWorkspace(account, "Here");
    const names = prefixes.map((prefix) => uniqueName(prefix));
    for (const name of names.filter((one) => one.startsWith("own-"))) await connected(account, { name });
    const before = await storedOf(account);
    const { status, body: told } = await purchase(account, names, { workspace_id, ...dry });
    expect(status).toBe(200);
    expect(await storedOf(account)).toEqual(before);
    const { body: real } = await purchase(account, names, { workspace_id });
    expect(short(told.results)).toEqual(short(real.results));
    const { estimated_total, successful_count, failed_count } = real;
    expect(told).toMatchObject({ estimated_total, successful_count, failed_count });
    expect(told).toMatchObject({ payment_url: null, purchase_batch_id: null });
    const { preview } = told;
    const isCovered = preview.missing === "0.00";
    expect(isCovered).toBe(real.payment_url === null);
    expect(preview.held_now).toBe(estimated_total);
    expect(await held(account)).toBe(isCovered ? preview.held_now : "0.00");
    const missing = Math.max(0, Math.round(Number(preview.held_now) * 100) - cents);
    expect(preview).toMatchObject({
      charged_now: "0.00",
      available: (cents / 100).toFixed(2),
      missing: (missing / 100).toFixed(2),
    });
  };
  await fc.assert(fc.asyncProperty(orders, check), { numRuns: 8 });
});

describe("a dry run", () => {
  test("gives the 409s of the real call", async () => {
    const { account, name } = await ownedName("slow-");
    const workspace_id = await newWorkspace(account, "Here");
    const answers = [
      await purchase(account, [uniqueName()], { workspace_id, max_total: "1.00", ...dry }),
      await renew(account, name, { years: 1, max_total: "1.00", ...dry }),
      await renew(account, name, { years: 1 }),
      await renew(account, name, { years: 1, ...dry }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [409, "quote_changed"],
      [409, "quote_changed"],
      [200, undefined],
      [409, "renewal_running"],
    ]);
  });

  test("of a renewal shows its hold, and the missing amount", async () => {
    const { account, name } = await ownedName("", 2_000);
    const before = await storedOf(account);
    const { status, body } = await renew(account, name, { years: 2, ...dry });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      name,
      renewal: null,
      preview: { charged_now: "0.00", held_now: "28.00", available: "20.00", missing: "8.00", currency: "USD" },
    });
    expect(await storedOf(account)).toEqual(before);
    expect((await renew(account, name, { years: 1, ...dry })).body.preview.held_now).toBe("14.00");
    await renew(account, name, { years: 1 });
    expect(await held(account)).toBe("14.00");
  });

  test("of a renewal or a claim shows the same missing amount as the 409, with the debt that a payment pays first", async () => {
    const { account, name } = await ownedName("", 2_000);
    const owed = 20_000;
    await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), owed } });
    const { option_id } = await newOption();
    const calls = {
      renewal: (more = {}) => renew(account, name, { years: 9, ...more }),
      claim: (more = {}) => send(account, "POST", "/claim", { option_id, ...more }),
    };
    for (const [which, call] of Object.entries(calls)) {
      const { preview } = (await call(dry)).body;
      const cost = minorUnits(preview.held_now) ?? 0;
      expect(preview.missing, which).toBe(money(cost + owed - 2_000));
      const { body } = await call();
      expect(body, which).toMatchObject({ code: "insufficient_funds", missing: preview.missing });
      expect(body.detail, which).toContain(`lacks ${preview.missing} USD`);
    }
    expect((await renew(account, name, { years: 1, ...dry })).body.preview.missing).toBe("0.00");
  });

  test("of a transfer shows its hold, and stores no auth code", async () => {
    const [account, name] = [await buyer(1_000), await nameElsewhere()];
    const { body } = await transfer(account, [name], dry);
    expect(body).toMatchObject({
      results: [{ domain_name: name, status: "payment_required", error_code: null }],
      payment_url: null,
      preview: { held_now: "14.00", available: "10.00", missing: "4.00" },
    });
    await fund(account, 400);
    const told = (await transfer(account, [name], dry)).body;
    expect(told).toMatchObject({ results: [{ status: "pending_transfer" }], preview: { missing: "0.00" } });
    expect(await wallet(account)).toEqual({ posted: 1_400, available: 1_400 });
    expect(JSON.stringify(await storedOf(account))).not.toContain("auth_code");
  });

  test("shows no hold for a name that another account is buying, because the purchase would fail", async () => {
    const [account, other] = [await buyer(), await buyer()];
    const name = uniqueName("slow-");
    await purchase(other, [name], { workspace_id: await newWorkspace(other, "There") });
    const workspace_id = await newWorkspace(account, "Here");
    const told = (await purchase(account, [name], { workspace_id, ...dry })).body;
    expect(told).toMatchObject({ results: [{ status: "failed" }], preview: { held_now: "0.00" } });
    const real = (await purchase(account, [name], { workspace_id })).body;
    expect(short(told.results)).toEqual(short(real.results));
  });

  test("with an idempotency key is replayed, and its key cannot be used for another request", async () => {
    const account = await buyer();
    const body = { workspace_id: await newWorkspace(account, "Here"), domains: [uniqueName()] };
    const headers = { "idempotency-key": randomUUID() };
    const send = (more: object) =>
      domainsRequest(account, "POST", "/purchase", { ...body, contact_info: contact, ...more }, headers);
    const first = await send(dry);
    expect(first.status).toBe(200);
    expect((await send(dry)).body).toEqual(first.body);
    expect((await send({})).body.detail).toMatchObject([{ type: "idempotency_key_reused" }]);
    expect(await held(account)).toBe("0.00");
  });

  test("shows the costs only to callers with billing.view", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    const member = await newMember(account, { capability: "domain.purchase" });
    const as = async (owner: Account["owner"]) =>
      (await purchase({ ...account, owner }, [uniqueName()], { workspace_id, ...dry })).body.preview;
    expect(await as(member)).toMatchObject({ held_now: "14.00", this_period: null, next_period: null });
    expect((await as(account.owner)).next_period.total).toBe("5.00");
  });
});
