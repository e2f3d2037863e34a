import { expect, test } from "vitest";

import { storedOf } from "../../support/entry-points.ts";
import { ofRule, ruleTo, stranger } from "../../support/forwarding.ts";
import { send } from "../../support/mailboxes.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("shows a rule as the list does, and Location leads to it", async () => {
  const account = await newAccount();
  const made = await send(account, "POST", "forwarding", { target_email: stranger() });
  const read = await send(account, "GET", ofRule(made.body.id));
  expect([read.status, read.body]).toEqual([200, made.body]);
  expect(made.headers["location"]).toBe(`/v1/public/accounts/${account.id}/${ofRule(made.body.id)}`);
  expect((await send(account, "GET", "forwarding")).body.items).toEqual([read.body]);
});

test("a rule with many grants is deleted only if If-Match has the present ETag of the rule", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const scope = { type: "forwarding" as const, id: rule.id };
  for (let index = 0; index < 12; index++) await newMember(account, { capability: "forwarding.view", scope });
  const before = await storedOf(account);
  const drop = (tag: string) => send(account, "DELETE", ofRule(rule.id), undefined, { headers: { "if-match": tag } });
  expect((await drop('"other"')).status).toBe(412);
  expect(await storedOf(account)).toEqual(before);
  const { etag = "" } = (await send(account, "GET", ofRule(rule.id))).headers;
  expect((await drop(etag)).status).toBe(200);
});
