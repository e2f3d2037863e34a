import { afterEach, expect, test, vi } from "vitest";

import { linesOf as linesIn, totalAmount, type Accrual } from "../../../shared/billing/charges.ts";
import { isOffered, PriceLists, planAt as planIn, plans, type PlanId } from "../../../shared/wallet/catalogue.ts";
import { firstDaysPrice } from "../../../shared/wallet/state.ts";

const linesOf = (days: readonly Accrual[], currency = "USD") => linesIn(days, currency);
const planAt = (id: PlanId, day: string, currency = "USD") => planIn(id, day, currency);

afterEach(() => void vi.unstubAllEnvs());

const dearer = { minimum: 700, mailbox: 400, dedicatedIp: 3_000, sentMails: 0 };
const dearest = { minimum: 800, mailbox: 500, dedicatedIp: 4_000, sentMails: 0 };
const lists = [
  { from: "2027-01-01", plans: { per_mailbox: dearer } },
  { from: "2027-03-01", plans: { per_mailbox: dearest } },
];
const withLists = (value: unknown = lists): void => void vi.stubEnv("PLAN_PRICES", JSON.stringify(value));

/** A day with 310 mailboxes, which costs as much as 10 mailboxes in a month of 31 days. */
const accrualOn = (day: string): Accrual[] => [
  { day, plan_id: "per_mailbox", mailboxes: 310, dedicated_ips: 0, sent_mails: 0 },
];

test("without price lists a plan has the prices of the catalogue", () => {
  expect(planAt("per_mailbox", "2027-01-01")).toEqual(plans.per_mailbox);
});

test("a price list holds from its month until the next list, for the plans that it names", () => {
  withLists();
  const days = ["2026-12-31", "2027-01-01", "2027-02-28", "2027-03-01", "2029-01-01"];
  expect(days.map((day) => planAt("per_mailbox", day).prices.mailbox)).toEqual([300, 400, 400, 500, 500]);
  expect(days.map((day) => planAt("per_dedicated_ip", day))).toEqual(days.map(() => plans.per_dedicated_ip));
  expect(planAt("per_mailbox", "2027-01-01")).toEqual({
    ...plans.per_mailbox,
    minimum: 700,
    prices: { mailbox: 400, dedicatedIp: 3_000, sentMails: 0 },
  });
});

test("days before a price list keep their earlier prices, even if they are invoiced later", () => {
  const before = linesOf(accrualOn("2026-12-31"));
  withLists();
  expect(linesOf(accrualOn("2026-12-31"))).toEqual(before);
  expect([totalAmount(before), totalAmount(linesOf(accrualOn("2027-01-01")))]).toEqual([3_000, 4_000]);
});

test("the first days of a dedicated IP cost the price on the day of the claim", () => {
  withLists();
  const state = { plans: [{ plan_id: "per_mailbox" as const, from: "2026-01-01" }] };
  expect(["2026-12-31", "2027-01-01"].map((day) => firstDaysPrice(state, day, "USD"))).toEqual([2_500, 3_000]);
});

const euros = {
  from: "2027-01-01",
  currency: "EUR",
  plans: { per_mailbox: dearer, per_dedicated_ip: dearest },
};

test("each currency has its own prices, beginning with its first list", () => {
  withLists([euros, lists[1], { ...euros, from: "2027-02-01", plans: { per_mailbox: dearest } }]);
  const day = (month: number) => `2027-0${month}-01`;
  expect([1, 2, 3].map((month) => planAt("per_mailbox", day(month), "EUR").minimum)).toEqual([700, 800, 800]);
  expect([1, 2, 3].map((month) => planAt("per_mailbox", day(month)).minimum)).toEqual([500, 500, 800]);
  expect(planAt("per_dedicated_ip", day(3), "EUR").prices.mailbox).toBe(dearest.mailbox);
  expect(totalAmount(linesOf(accrualOn(day(1)), "EUR"))).toBe(4_000);
  expect(["2026-12-31", day(1)].map((one) => isOffered("EUR", one))).toEqual([false, true]);
  expect(() => planAt("per_mailbox", "2026-12-31", "EUR")).toThrow("has no prices in EUR");
  expect([isOffered("USD", day(1)), isOffered("GBP", day(1))]).toEqual([true, false]);
});

test.each([
  [[{ ...euros, plans: { per_mailbox: dearer } }], "no price for per_dedicated_ip in EUR"],
  [[{ ...euros, currency: "JPY" }], "a currency with two decimals"],
  [[{ ...euros, currency: "KWD" }], "a currency with two decimals"],
  [[{ ...euros, currency: "EURO" }], "a currency of ISO 4217"],
  [[{ ...euros, currency: "XQQ" }], "a currency of ISO 4217"],
  [[euros, euros], "order of their months"],
  [[{ from: "2027-01-02", plans: {} }], "first day of a month"],
  [[lists[1], lists[0]], "order of their months"],
  [[lists[0], lists[0]], "order of their months"],
  [[{ from: "2027-01-01", plans: { per_mailbix: dearer } }], "per_mailbix"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { ...dearer, mailbox: 0.5 } } }], "int"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { ...dearer, mailbox: -1 } } }], ">=0"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { minimum: 1 } } }], "mailbox"],
  [
    [{ from: "2027-01-01", plans: { per_mailbox: { ...dearer, dedicatedIp: 0 } } }],
    "the claim of an IP holds this price",
  ],
])("the price lists %j are refused: %s", (value, reason) => {
  expect(() => PriceLists.parse(value)).toThrow(reason);
});
