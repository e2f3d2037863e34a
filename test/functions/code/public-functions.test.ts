import { expect, test } from "vitest";

import { execute } from "../../../functions/code/execution/execute.ts";
import type { Charge } from "../../../shared/rate-limits/limiter.ts";
import { newTopup } from "../../support/billing-examples.ts";
import { tellPayment } from "../../support/billing.ts";
import { codeContext } from "../../support/code-context.ts";
import { mailed, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { send } from "../../support/mailboxes.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser, type User } from "../../support/world.ts";

const run = ({ token }: User, code: string, more: object = {}) =>
  request("POST", "/v1/public/a2a", { token, body: { request_id: "r", session_id: "s", code, ...more } });

test("the program of any caller can confirm a recipient's token, and the account's audit log does not name the caller", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const someone = newUser();
  const code = `forwarding.verify(token="${token}").verification_state`;
  expect((await run(someone, code, { dry_run: true })).body.dry_run.calls).toMatchObject([{ held: true }]);
  const first = await run(someone, code);
  expect(first.body).toMatchObject({ status: "completed", result: { last_value: "verified" } });
  expect(await ruleNow(account, rule.id)).toMatchObject({ verification_state: "verified" });
  const [entry] = (await send(account, "GET", `audit-log?resource_id=${rule.id}`)).body.items;
  expect(entry).toMatchObject({ action: "forwarding.verify", actor: { type: "system", id: "stranger" } });
  expect(JSON.stringify(entry)).not.toContain(someone.id);
  expect((await press(token)).status).toBe(422);
});

test("a repeat of a request gets the same answer; another request with the same program fails, because the token is used", async () => {
  const account = await newAccount();
  const { token } = await mailed(account, await ruleTo(account, stranger()));
  const someone = newUser();
  const code = `forwarding.verify(token="${token}")`;
  const first = await run(someone, code);
  expect((await run(someone, code)).body).toEqual(first.body);
  const wrong = { status: "failed", error: { code: "invalid_argument", line: 1 } };
  expect((await run(someone, code, { request_id: "other" })).body).toMatchObject(wrong);
  expect((await run(newUser(), code)).body).toMatchObject(wrong);
});

test("a call of forwarding.verify is charged to the caller, in the class of the function", async () => {
  const someone = newUser();
  const charges: Charge[] = [];
  const context = { ...codeContext(someone), charge: async (what: Charge) => void charges.push(what) };
  await execute({ code: 'forwarding.verify(token="guess")', requestId: "r" }, context);
  expect(charges.filter(({ class: limit }) => limit === "sensitive")).toEqual([
    { principalId: someone.id, class: "sensitive", cost: 1, onlyOwn: false },
  ]);
});

test("a program of any caller with the token of a checkout can read its result, and a program with a wrong token cannot", async () => {
  const account = await newAccount();
  const { reference, token } = await newTopup(account);
  const resultOf = (text: string) =>
    `billing.checkout_result.get(account_id="${account.id}", checkout_token="${text}").status`;
  const someone = newUser();
  expect((await run(someone, resultOf(token))).body.result.last_value).toBe("pending");
  await tellPayment(account, { checkoutId: `cs_local_${reference}`, reference, cents: 5_000 });
  for (const user of [someone, account.owner]) {
    expect((await run(user, resultOf(token), { request_id: "later" })).body.result.last_value).toBe("paid");
  }
  expect((await run(account.owner, resultOf(`${token}x`))).body.error).toMatchObject({ code: "not_found" });
});

test("a program without a credential is refused, even if it calls only a public function", async () => {
  const body = { request_id: "r", session_id: "s", code: 'forwarding.verify(token="x")' };
  expect((await request("POST", "/v1/public/a2a", { body })).status).toBe(401);
});
