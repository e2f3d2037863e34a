import { afterEach, expect, test, vi } from "vitest";

import { linesOf, totalAmount, type Accrual } from "../../../shared/billing/charges.ts";
import { PriceLists, planAt, plans } from "../../../shared/wallet/catalogue.ts";
import { firstDaysPrice } from "../../../shared/wallet/state.ts";

afterEach(() => void vi.unstubAllEnvs());

const dearer = { minimum: 700, mailbox: 400, dedicatedIp: 3_000, sentMails: 0 };
const dearest = { minimum: 800, mailbox: 500, dedicatedIp: 4_000, sentMails: 0 };
const lists = [
  { from: "2027-01-01", plans: { per_mailbox: dearer } },
  { from: "2027-03-01", plans: { per_mailbox: dearest } },
];
const withLists = (value: unknown = lists): void => void vi.stubEnv("PLAN_PRICES", JSON.stringify(value));

const january = (day: string): Accrual[] => [
  { day, plan_id: "per_mailbox", mailboxes: 310, dedicated_ips: 0, sent_mails: 0 },
];

test("without lists a plan costs what the catalogue says", () => {
  expect(planAt("per_mailbox", "2027-01-01")).toEqual(plans.per_mailbox);
});

test("a list holds from its month on, until the next one, for the plans that it names", () => {
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

test("days before a list cost what they did before it was there, whenever they are invoiced", () => {
  const before = linesOf(january("2026-12-31"));
  withLists();
  expect(linesOf(january("2026-12-31"))).toEqual(before);
  expect([totalAmount(before), totalAmount(linesOf(january("2027-01-01")))]).toEqual([3_000, 4_000]);
});

test("the first days of a dedicated IP cost what the plan does on the day of its claim", () => {
  withLists();
  const state = { plans: [{ plan_id: "per_mailbox" as const, from: "2026-01-01" }] };
  expect(["2026-12-31", "2027-01-01"].map((day) => firstDaysPrice(state, day))).toEqual([2_500, 3_000]);
});

test.each([
  [[{ from: "2027-01-02", plans: {} }], "first day of a month"],
  [[lists[1], lists[0]], "order of their months"],
  [[lists[0], lists[0]], "order of their months"],
  [[{ from: "2027-01-01", plans: { per_mailbix: dearer } }], "per_mailbix"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { ...dearer, mailbox: 0.5 } } }], "int"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { ...dearer, mailbox: -1 } } }], ">=0"],
  [[{ from: "2027-01-01", plans: { per_mailbox: { minimum: 1 } } }], "mailbox"],
])("%j is refused", (value, reason) => {
  expect(() => PriceLists.parse(value)).toThrow(reason);
});
