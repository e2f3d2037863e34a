import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { proofKey } from "../../../../shared/mail/forwarding/proof.ts";
import { write } from "../../../support/domain-work.ts";
import { enter, mailed, otherThan, press, ruleNow, ruleTo, stranger } from "../../../support/forwarding.ts";
import { newRoomyAccount } from "../../../support/roomy.ts";
import { newAccount } from "../../../support/world.ts";

test("the code of the mail confirms once, and spaces in the code are ignored", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code, token } = await mailed(account, rule);
  const { status, body } = await enter(account, rule.id, ` ${code.slice(0, 3)} ${code.slice(3)} `);
  expect([status, body.verification_state, body.verification_expires_at]).toEqual([200, "verified", null]);
  expect(body.verification_verified_at).toBe(body.updated_at);
  expect((await enter(account, rule.id, code)).body.code).toBe("verification_not_needed");
  expect((await press(token)).status).toBe(422);
});

test("a wrong code shows how many tries are left, and after five wrong codes the right code fails", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code, token } = await mailed(account, rule);
  for (const tries_left of [4, 3, 2, 1, 0]) {
    expect((await enter(account, rule.id, otherThan(code))).body).toMatchObject({
      status: 409,
      code: "verification_failed",
      tries_left,
    });
  }
  expect((await enter(account, rule.id, code)).body).toMatchObject({ reason: "no_tries_left", tries_left: 0 });
  expect((await ruleNow(account, rule.id))?.verification_state).toBe("pending");
  expect((await press(token)).status).toBe(200);
});

test("a wrong code stores nothing for its Idempotency-Key, so the right code can use the key", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code } = await mailed(account, rule);
  const headers = { "idempotency-key": randomUUID() };
  for (const tries_left of [4, 3]) {
    expect((await enter(account, rule.id, otherThan(code), headers)).body).toMatchObject({ status: 409, tries_left });
  }
  expect((await enter(account, rule.id, code, headers)).status).toBe(200);
});

test("of fifty wrong codes at once five count as tries, and then the right code fails", async () => {
  const account = await newRoomyAccount();
  const rule = await ruleTo(account, stranger());
  const { code } = await mailed(account, rule);
  const answers = await Promise.all(Array.from({ length: 50 }, () => enter(account, rule.id, otherThan(code))));
  const left = answers.map(({ body }) => body.tries_left).filter((tries: number) => tries > 0);
  expect(new Set(left)).toEqual(new Set([1, 2, 3, 4]));
  expect(left).toHaveLength(4);
  expect(answers.every(({ status, body }) => status === 409 && body.code === "verification_failed")).toBe(true);
  expect((await enter(account, rule.id, code)).status).toBe(409);
});

test("a code expires after fifteen minutes", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code } = await mailed(account, rule, new Date(Date.now() - 15 * 60_000));
  expect((await enter(account, rule.id, code)).body).toMatchObject({ reason: "expired", tries_left: 0 });
});

test("no code is accepted before the mail is sent, or after the proof is deleted", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  expect((await enter(account, rule.id, "000000")).body).toMatchObject({ reason: "not_sent", tries_left: 0 });
  const { code } = await mailed(account, rule);
  await write({ delete: proofKey(account.id, rule.id) });
  expect((await enter(account, rule.id, code)).body.tries_left).toBe(0);
});

test("a text that cannot be a code is refused, and does not count as a try", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code } = await mailed(account, rule);
  for (const given of ["", "12345", "1234567", "12a456", "１２３４５６"]) {
    expect((await enter(account, rule.id, given)).body.detail).toMatchObject([{ loc: ["body", "code"] }]);
  }
  expect((await enter(account, rule.id, otherThan(code))).body.tries_left).toBe(4);
});

test("a repetition with the same key gets the same answer", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { code } = await mailed(account, rule);
  const headers = { "idempotency-key": randomUUID() };
  const [first, again] = [await enter(account, rule.id, code, headers), await enter(account, rule.id, code, headers)];
  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
});
