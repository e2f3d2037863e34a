import { expect, test } from "vitest";

import { assignmentsOn } from "../../../shared/grants/assignments.ts";
import { storedOf } from "../../support/entry-points.ts";
import { agreedRule, mailed, ofRule, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { send, statusesOf } from "../../support/mailboxes.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

test("is gone, with its link, and with the grants on it", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const { token } = await mailed(account, rule);
  const scope = { type: "forwarding" as const, id: rule.id };
  for (let index = 0; index < 12; index++) await newMember(account, { capability: "forwarding.manage", scope });
  expect((await send(account, "DELETE", ofRule(rule.id))).body).toEqual({});
  expect(await ruleNow(account, rule.id)).toBe(undefined);
  expect((await press(token)).status).toBe(422);
  expect(await assignmentsOn(testTable(), account.id, scope)).toEqual([]);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
});

test("of several deletions one finds it", async () => {
  const account = await newAccount();
  const { id } = await agreedRule(account);
  const answers = await Promise.all([1, 2, 3].map(() => send(account, "DELETE", ofRule(id))));
  expect(statusesOf(answers)).toEqual([200, 404, 404]);
});

test("is gone with ten targets that wait and ten grants with an end, in several transactions", async () => {
  const account = await newAccount();
  const target_emails = Array.from({ length: 10 }, (_, index) => stranger(`ada${index}`));
  const { body: rule } = await send(account, "POST", "forwarding", { target_emails });
  const scope = { type: "forwarding" as const, id: String(rule.id) };
  const ending = { capability: "forwarding.view" as const, scope, expires_at: "2100-01-01T00:00:00.000Z" };
  for (let index = 0; index < 10; index++) await newMember(account, ending);
  expect((await send(account, "DELETE", ofRule(rule.id))).status).toBe(200);
  expect(await assignmentsOn(testTable(), account.id, scope)).toEqual([]);
  expect((await storedOf(account)).filter(({ SK }) => SK.startsWith("FORWARD"))).toEqual([]);
});
