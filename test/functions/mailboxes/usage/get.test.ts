import { expect, test } from "vitest";

import { ago, dayAgo, of, reportUsage, sceneWithMailbox } from "../../../support/mail-reports.ts";
import { at, send } from "../../../support/mailboxes.ts";
import { newMember } from "../../../support/world.ts";

test("a new mailbox uses nothing, has sent nothing, and has no last login", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const { status, body } = await send(account, "GET", at(mailbox.primary_email, "/usage"));
  expect([status, { ...body, sent: body.sent.length }]).toEqual([
    200,
    {
      mailbox_id: mailbox.id,
      email: mailbox.primary_email,
      bytes: 0,
      messages: null,
      allowed: mailbox.quota.allowed,
      percent: 0,
      measured_at: null,
      last_login_at: null,
      sent: 30,
    },
  ]);
  expect([body.sent[0], body.sent[29]]).toEqual([
    { day: dayAgo(29), count: 0 },
    { day: dayAgo(0), count: 0 },
  ]);
});

test("can be read by an alias too, and needs mailbox.view", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  await send(account, "POST", at(mailbox.id, "/aliases"), { alias: "sales" });
  await reportUsage({ mailboxes: [{ ...of(account, mailbox), bytes: 7, messages: 1, at: ago(0) }] });
  const scope = { type: "mailbox" as const, id: mailbox.id };
  const as = await newMember(account, { capability: "mailbox.view", scope });
  const { body } = await send(account, "GET", at(`sales@${mailbox.domain_name}`, "/usage"), undefined, { as });
  expect(body.bytes).toBe(7);
  const stranger = await newMember(account, { capability: "domain.view" });
  expect((await send(account, "GET", at(mailbox.id, "/usage"), undefined, { as: stranger })).status).toBe(403);
});

test("a restored mailbox has its usage from before the deletion", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  await reportUsage({
    mailboxes: [{ ...of(account, mailbox), bytes: 7, messages: 1, at: ago(0) }],
    logins: [{ ...of(account, mailbox), at: ago(0), protocol: "imap" }],
    sent: [{ ...of(account, mailbox), at: ago(0), address: mailbox.primary_email, recipients: 2 }],
  });
  const before = (await send(account, "GET", at(mailbox.id, "/usage"))).body;
  await send(account, "DELETE", at(mailbox.id));
  expect((await send(account, "GET", at(mailbox.id, "/usage"))).status).toBe(404);
  await send(account, "POST", at(mailbox.id, "/restore"));
  expect((await send(account, "GET", at(mailbox.id, "/usage"))).body).toEqual(before);
  expect(before).toMatchObject({
    bytes: 7,
    messages: 1,
    sent: expect.arrayContaining([{ day: dayAgo(0), count: 2 }]) as object,
  });
});
