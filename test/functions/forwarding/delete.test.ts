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
