import fc from "fast-check";
import { expect, test, vi } from "vitest";

import { localVat } from "../../../infra/local/start/local-vat.ts";
import { lineView } from "../../../shared/billing/charges.ts";
import { claimIp } from "../../../shared/billing/claim.ts";
import { vatTotal } from "../../../shared/billing/invoices/invoice.ts";
import { changePlan, previewPlan } from "../../../shared/billing/plan.ts";
import { money } from "../../../shared/core/money.ts";
import { dayMs, daysBetween, later, nextMonth, plusDays } from "../../../shared/core/time.ts";
import { ipKey } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import type { Context } from "../../../shared/http/route.ts";
import { sentKey } from "../../../shared/mail/usage/sent.ts";
import { dedicatedIpFirstDays } from "../../../shared/wallet/catalogue.ts";
import { sellInEuros } from "../../support/currencies.ts";
import { newOption } from "../../support/dedicated-ips.ts";
import { testTable } from "../../support/world.ts";
import { newScene } from "./scene.ts";

const table = testTable();
const first = "2026-02-01";

const asOwner = (context: Context): Context => ({
  ...context,
  permissions: { ...context.permissions, everything: true },
});

/** An account that is created on a day in February, with usage of every kind and a change of its plan. */
const lives = fc.record({
  created: fc.nat(27).map((days) => plusDays(first, days)),
  /** The days from the account's creation to the change. The change is at the latest at the end of the month. */
  changedAfter: fc.nat(27),
  /** The days from the change to the new plan's first day. Undefined for the default. */
  beginsAfter: fc.option(fc.integer({ min: 1, max: 45 }), { nil: undefined }),
  firstPlan: fc.constantFrom("per_mailbox", "per_dedicated_ip"),
  usage: fc.record({ mailboxes: fc.nat(5_000), dedicated_ips: fc.nat(3) }),
  mails: fc.nat(20_000),
  isRecordedDaily: fc.boolean(),
  currency: fc.constantFrom("USD", "EUR"),
});

test("if the usage stays the same, the invoices are the ones that the preview of the plan shows", async () => {
  const check = async (life: typeof lives extends fc.Arbitrary<infer Life> ? Life : never) => {
    const { created, changedAfter, beginsAfter, firstPlan, usage, mails, isRecordedDaily, currency } = life;
    sellInEuros();
    const last = plusDays(nextMonth(first), -1);
    const target = firstPlan === "per_mailbox" ? "per_dedicated_ip" : "per_mailbox";
    const scene = await newScene(created, currency);
    const { accountId, context } = scene;
    const send = (from: string, to: string) =>
      Promise.all(
        daysBetween(from, to).map((day) => table.attempt({ put: { ...sentKey(accountId, day), count: mails } })),
      );
    if (firstPlan !== "per_mailbox") await changePlan(accountId, firstPlan, undefined, context);
    await scene.use(usage);
    const wanted = plusDays(created, changedAfter);
    const today = wanted > last ? last : wanted;
    if (mails > 0) await send(created, plusDays(today, -1));
    scene.on(today);
    if (isRecordedDaily) await scene.run(plusDays(today, -1));
    const from = beginsAfter === undefined ? undefined : plusDays(today, beginsAfter);
    const { preview, ...answer } = await previewPlan(accountId, target, from, asOwner(context));
    expect((await scene.state())?.plans ?? []).not.toContainEqual(expect.objectContaining({ plan_id: target, from }));
    expect(await changePlan(accountId, target, from, context)).toEqual(answer);
    const end = plusDays(nextMonth(nextMonth(first)), -1);
    // The preview estimates the mails from the days before today. Without such a day, it expects no mails.
    const areMailsForeseen = created < today;
    if (mails > 0 && areMailsForeseen) await send(today, end);
    scene.on(plusDays(end, 1));
    await scene.run(end);
    const invoices = await scene.invoices();
    const costs = [preview?.this_period, preview?.next_period];
    expect(costs.flatMap((cost) => (cost && cost.total !== "0.00" ? cost : []))).toEqual(
      invoices.map(({ period_start, period_end, lines, total, ...invoice }) => ({
        period_start,
        period_end,
        lines: lines.map(lineView),
        vat: money(vatTotal(invoice)),
        total: money(total),
      })),
    );
    expect(invoices.map((invoice) => invoice.currency)).toEqual(invoices.map(() => currency));
    expect(preview).toMatchObject({ currency, charged_now: "0.00", held_now: "0.00", missing: "0.00" });
  };
  await fc.assert(fc.asyncProperty(lives, check), { numRuns: 12 });
});

const claims = fc.record({
  claimedAfter: fc.nat(27),
  plan: fc.constantFrom("per_mailbox", "per_dedicated_ip"),
  mailboxes: fc.nat(50),
  hasVat: fc.boolean(),
  currency: fc.constantFrom("USD", "EUR"),
});

test("the preview of a claim of an IP agrees with the amount that the claim holds, and with the later invoices", async () => {
  const check = async ({
    claimedAfter,
    plan,
    mailboxes,
    hasVat,
    currency,
  }: typeof claims extends fc.Arbitrary<infer C> ? C : never) => {
    vi.stubEnv("VAT", hasVat ? JSON.stringify(localVat) : "");
    sellInEuros();
    const scene = await newScene(first, currency);
    const { accountId, context } = scene;
    const { option_id: optionId } = await newOption();
    await scene.topUp(100_000);
    if (plan !== "per_mailbox") await changePlan(accountId, plan, undefined, context);
    await scene.use({ mailboxes });
    scene.on(plusDays(first, claimedAfter));
    const claim = { accountId, optionId, name: undefined };
    const before = await scene.wallet();
    const { preview } = await claimIp(claim, true, asOwner(context));
    expect(await scene.wallet()).toEqual(before);
    const { id } = await claimIp(claim, false, context);
    const { available } = await scene.wallet();
    expect(preview).toMatchObject({
      held_now: money(before.available - available),
      charged_now: "0.00",
      missing: "0.00",
    });
    await scene.post({ kind: "capture", id: `dedicated-ip/${id}` });
    const paid_until = later(context.now(), dedicatedIpFirstDays * dayMs);
    await table.attempt({ update: ipKey(accountId, id), set: { status: "active", paid_until } });
    const end = plusDays(nextMonth(nextMonth(first)), -1);
    scene.on(plusDays(end, 1));
    await scene.run(end);
    const charged = (await scene.invoices()).map(({ lines, total, prepaid = 0 }) => ({
      lines: lines
        .filter(({ supplied_on }) => supplied_on === undefined)
        .map(({ vat_row: _, ...line }) => lineView(line)),
      total: money(total - prepaid),
    }));
    const periods = [preview?.this_period, preview?.next_period];
    const costs = periods.map((cost) => ({
      lines: cost?.lines,
      total: cost?.total,
    }));
    expect(costs.filter(({ total }) => total !== "0.00")).toEqual(charged.filter(({ total }) => total !== "0.00"));
  };
  try {
    await fc.assert(fc.asyncProperty(claims, check), { numRuns: 6 });
  } finally {
    vi.unstubAllEnvs();
  }
});

test("a preview shows the balance and the costs only to a caller with billing.view", async () => {
  const { accountId, context } = await newScene(first);
  const { preview } = await previewPlan(accountId, "per_dedicated_ip", undefined, context);
  expect(preview).toMatchObject({ this_period: null, next_period: null, available: null });
});
