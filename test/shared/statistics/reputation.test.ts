import { expect, test } from "vitest";

import { reputationOf } from "../../../shared/statistics/reputation.ts";
import { noMail } from "../../../shared/statistics/statistics.ts";

test.each([
  ["no mail", {}, "good"],
  ["few mails, all bounced", { hard_bounced: 99 }, "good"],
  ["1.9 % bounces", { sent: 1_000, hard_bounced: 19 }, "good"],
  ["2 % bounces", { sent: 1_000, hard_bounced: 20 }, "watch"],
  ["5 % bounces", { sent: 1_000, hard_bounced: 50 }, "poor"],
  ["0.1 % complaints", { sent: 1_000, complained: 1 }, "watch"],
  ["0.3 % complaints", { sent: 1_000, complained: 3 }, "poor"],
  ["soft bounces only", { sent: 1_000, soft_bounced: 1_000 }, "good"],
  ["mails without a report of their sending", { delivered: 950, hard_bounced: 50 }, "poor"],
] as const)("%s: %j is %s", (_, counts, state) => {
  expect(reputationOf({ ...noMail, ...counts }).state).toBe(state);
});

test("rates are shares with four decimal places, and at most 1", () => {
  expect(reputationOf({ ...noMail, sent: 3, hard_bounced: 1 })).toMatchObject({ bounce_rate: 0.3333, mails: 3 });
  expect(reputationOf({ ...noMail, complained: 5, sent: 1 })).toMatchObject({ complaint_rate: 1 });
});
