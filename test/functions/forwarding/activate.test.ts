import { expect, test } from "vitest";

import { changeJournalOf } from "../../../shared/changes/record.ts";
import { readEntries } from "../../../shared/table/journal.ts";
import { agreedRule, ofRule, ruleTo, stranger } from "../../support/forwarding.ts";
import { send } from "../../support/mailboxes.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("pauses and resumes a rule, and the agreement of the recipient stays", async () => {
  const account = await newAccount();
  const rule = await agreedRule(account);
  for (const active of [false, false, true]) {
    const { status, body } = await send(account, "PATCH", ofRule(rule.id, "/active"), { active });
    expect([status, body.active, body.verification_state]).toEqual([200, active, "verified"]);
  }
  const { rows } = await readEntries(testTable(), changeJournalOf(account.id), { skip: 0, take: 5 }, new Date());
  const events = rows.map(({ type }) => String(type)).filter((type) => /paused|resumed/.test(type));
  expect(events).toEqual(["forwarding.resumed", "forwarding.paused"]);
});

test("a rule that waits for its recipient can be paused too, and still waits", async () => {
  const account = await newAccount();
  const { id } = await ruleTo(account, stranger());
  const { body } = await send(account, "PATCH", ofRule(id, "/active"), { active: false });
  expect([body.active, body.verification_state]).toEqual([false, "pending"]);
});

test("names a missing, a wrong and an unknown member", async () => {
  const account = await newAccount();
  const { id } = await ruleTo(account, stranger());
  const answers = [{}, { active: "no" }, { active: true, target_email: "a@example.com" }].map((body) =>
    send(account, "PATCH", ofRule(id, "/active"), body),
  );
  expect((await Promise.all(answers)).map(({ body }) => body.detail[0].loc)).toEqual([
    ["body", "active"],
    ["body", "active"],
    ["body", "target_email"],
  ]);
});
