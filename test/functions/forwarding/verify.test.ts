import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { proofKey } from "../../../shared/mail/forwarding/proof.ts";
import { write } from "../../support/domain-work.ts";
import { masked } from "../../support/entry-points.ts";
import { mailed, ofRule, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { at, home, send, statusesOf, stocked } from "../../support/mailboxes.ts";
import { newAccount } from "../../support/world.ts";

test("the token of the link confirms once without a bearer token, and the answer masks the address", async () => {
  const account = await newAccount();
  const target = stranger("ada.lovelace");
  const rule = await ruleTo(account, target);
  const { token } = await mailed(account, rule);
  const { status, body, text } = await press(token);
  expect([status, body]).toEqual([200, { target_email: "a***@e***.com", verification_state: "verified" }]);
  expect(text).not.toContain(target);
  expect(await ruleNow(account, rule.id)).toMatchObject({ verification_state: "verified" });
  expect((await press(token)).status).toBe(422);
});

test("of several concurrent uses of a token one confirms", async () => {
  const account = await newAccount();
  const { token } = await mailed(account, await ruleTo(account, stranger()));
  expect(statusesOf(await Promise.all([1, 2, 3, 4].map(() => press(token))))).toEqual([200, 422, 422, 422]);
});

test("every invalid token gets the same answer", async () => {
  const account = await newAccount();
  const used = await mailed(account, await ruleTo(account, stranger()));
  await press(used.token);
  const replaced = await ruleTo(account, stranger());
  const old = await mailed(account, replaced);
  await send(account, "PATCH", ofRule(replaced.id), { target_email: stranger() });
  const late = await ruleTo(account, stranger());
  const expired = await mailed(account, late);
  await write({ update: proofKey(account.id, late.id), set: { expires_at: new Date().toISOString() } });
  const gone = await ruleTo(account, stranger());
  const deleted = await mailed(account, gone);
  await send(account, "DELETE", ofRule(gone.id));
  const orphan = await ruleTo(account, stranger());
  const lost = await mailed(account, orphan);
  await write({ delete: proofKey(account.id, orphan.id) });
  const tokens = [used, old, expired, deleted, lost].map(({ token }) => token);
  const answers = await Promise.all([...tokens, "x", "A".repeat(22), "é"].map((token) => press(token)));
  expect(new Set(answers.map(({ status, body }) => `${status} ${masked(body)}`)).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "token"], type: "not_found" }] } });
});

test("a link is refused after its end, even if its item is still in the table", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const past = new Date(Date.now() - 1).toISOString();
  await write({ update: proofKey(account.id, rule.id), set: { expires_at: past } });
  expect((await press(token)).status).toBe(422);
});

test("the audit log shows that the recipient agreed, without the IP address of the recipient", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  await press(token);
  const [entry] = (await send(account, "GET", `audit-log?resource_id=${rule.id}`)).body.items;
  expect(entry).toMatchObject({
    action: "forwarding.verify",
    actor: { type: "system", id: "stranger" },
  });
  expect(entry.source_ip ?? null).toBe(null);
});

test("a repetition with the same key gets the same answer", async () => {
  const account = await newAccount();
  const { token } = await mailed(account, await ruleTo(account, stranger()));
  const headers = { "idempotency-key": randomUUID() };
  const [first, again] = [await press(token, headers), await press(token, headers)];
  expect([again.status, again.body]).toEqual([200, first.body]);
});

test("a target that became a mailbox of the account meanwhile may still agree", async () => {
  const account = await newAccount();
  const { name } = await home(account, { status: "pending_delegation" });
  const rule = await ruleTo(account, `ada@${name}`);
  const { token } = await mailed(account, rule);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  expect((await press(token)).status).toBe(200);
  expect((await send(account, "GET", at(ada))).status).toBe(200);
});
