import { expect, test } from "vitest";

import { afterReading } from "../../../support/between.ts";
import { billing } from "../../../support/billing.ts";
import { request } from "../../../support/request.ts";
import { enterCard, saveTestCard, tellProduct } from "../../../support/saved-cards.ts";
import { newAccount } from "../../../support/world.ts";

test("removes the card and switches off automatic recharges; a second deletion changes nothing", async () => {
  const account = await newAccount();
  await saveTestCard(account);
  await billing(account, "PATCH", "auto-recharge", { enabled: true });
  for (let times = 0; times < 2; times++) {
    expect((await billing(account, "DELETE", "payment-method")).status).toBe(200);
    expect((await billing(account, "GET", "payment-method")).body).toEqual({ payment_method: null });
    expect((await billing(account, "GET", "auto-recharge")).body).toMatchObject({ enabled: false, state: "off" });
  }
});

test("automatic recharges that are switched on during the removal of the card are switched off again", async () => {
  const account = await newAccount();
  await saveTestCard(account);
  const removed = await afterReading(
    ({ SK }) => SK === "AUTO_RECHARGE",
    () => billing(account, "PATCH", "auto-recharge", { enabled: true }),
    () => billing(account, "DELETE", "payment-method"),
  );
  expect(removed.status).toBe(200);
  expect((await billing(account, "GET", "auto-recharge")).body).toMatchObject({ enabled: false, state: "off" });
});

test("a program that deletes the card completes, also if there is none", async () => {
  const { id, owner } = await newAccount();
  const body = { request_id: "r", session_id: "s", code: `billing.payment_method.delete(account_id="${id}")` };
  expect((await request("POST", "/v1/public/a2a", { token: owner.token, body })).body).toMatchObject({
    status: "completed",
    result: { last_value: {} },
  });
});

test("a repeated webhook does not restore a deleted card", async () => {
  const account = await newAccount();
  const { webhook } = await enterCard(account);
  await tellProduct(webhook);
  await billing(account, "DELETE", "payment-method");
  expect((await tellProduct(webhook)).body).toMatchObject({ outcome: "known" });
  expect((await billing(account, "GET", "payment-method")).body).toEqual({ payment_method: null });
});
