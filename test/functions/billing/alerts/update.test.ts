import { expect, test } from "vitest";

import { handler as watchWallets } from "../../../../functions/workers/watch-wallets.ts";
import { readChangePages } from "../../../../shared/changes/history.ts";
import { StoredChange } from "../../../../shared/changes/record.ts";
import { billing, fund } from "../../../support/billing.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { newAccount, testTable } from "../../../support/world.ts";

test("sets the threshold, and null restores the default", async () => {
  const account = await newAccount();
  const { body } = await billing(account, "PATCH", "alerts", { low_balance_threshold: "40.00" });
  expect(body).toMatchObject({
    low_balance_threshold: "40.00",
    effective_low_balance_threshold: "40.00",
    is_low: true,
  });
  const reset = (await billing(account, "PATCH", "alerts", { low_balance_threshold: null })).body;
  expect(reset.low_balance_threshold).toBeNull();
  expect(reset).toEqual((await billing(account, "GET", "alerts")).body);
});

test.each(["-1", "0", "10000.01", "1.234", true])(
  "a threshold of %j is refused with 422, and changes nothing",
  async (threshold) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const { status, body } = await billing(account, "PATCH", "alerts", { low_balance_threshold: threshold });
    expect([status, body.detail[0].loc.slice(0, 2)]).toEqual([422, ["body", "low_balance_threshold"]]);
    expect(await storedOf(account)).toEqual(before);
  },
);

test("the worker reports a wallet below the new threshold once, with the threshold", async () => {
  const account = await newAccount();
  await fund(account, 2_000);
  await billing(account, "PATCH", "alerts", { low_balance_threshold: "25.00" });
  for (let times = 0; times < 3; times++) await watchWallets({ detail: { account_id: account.id } });
  const told: StoredChange[] = [];
  for await (const rows of readChangePages(testTable(), account.id, { sinceMs: 0 })) {
    told.push(
      ...rows.map((row) => StoredChange.parse(row)).filter(({ type }) => type === "billing.wallet.low_balance"),
    );
  }
  expect(told.map(({ after }) => after)).toEqual([
    { balance: "20.00", available: "20.00", currency: "USD", threshold: "25.00" },
  ]);
});
