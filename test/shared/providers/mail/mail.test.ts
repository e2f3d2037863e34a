import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { outbox, readOutbox } from "../../../../shared/providers/mail/embedded.ts";
import { mailOf } from "../../../../shared/providers/mail/factory.ts";
import { MailEnvironment, MailRefused, type Letter, MailSender } from "../../../../shared/providers/mail/mail.ts";
import { testTable } from "../../../support/world.ts";
import { startSmtp } from "../mail-services.ts";

const table = testTable();
const start = new Date("2026-03-01T12:00:00.250Z");
const mailAt = (now: Date, env: Record<string, string> = {}) =>
  mailOf(MailEnvironment.parse({ MAIL_PROVIDER: "embedded", ...env }))(table, () => now);

const newAddress = (beginning = ""): string => `${beginning}${randomUUID()}@example.net`;
const letterTo = (to: string, more: Partial<Letter> = {}): Letter => ({
  id: randomUUID(),
  to,
  subject: "Subject",
  text: "Text",
  html: "<p>HTML</p>",
  ...more,
});

test("the outbox shows all members of the mails to an address, newest first", async () => {
  const to = newAddress();
  const first = letterTo(to);
  await mailAt(start).send(first);
  await mailAt(new Date(start.getTime() + 1_000)).send(letterTo(to, { subject: "Second" }));
  await mailAt(start).send(letterTo(newAddress()));
  const mails = await outbox(table, { to });
  expect(mails.map(({ subject }) => subject)).toEqual(["Second", "Subject"]);
  expect(mails[1]).toEqual({
    id: expect.any(String),
    message_id: `<${first.id}@hosted-mail.example>`,
    from: '"Hosted Mail" <no-reply@hosted-mail.example>',
    to,
    subject: "Subject",
    text: "Text",
    html: "<p>HTML</p>",
    sent_at: start.toISOString(),
  });
  expect(await readOutbox(table, mails[1]?.id ?? "")).toEqual(mails[1]);
  expect(await readOutbox(table, randomUUID())).toBeUndefined();
});

test("the outbox lists the mails to all addresses, newest first, up to `limit`", async () => {
  const [early, late] = [letterTo(newAddress()), letterTo(newAddress())];
  // Later than the mails of other tests.
  await mailAt(new Date("2099-01-01T00:00:00Z")).send(early);
  await mailAt(new Date("2099-01-01T00:00:01Z")).send(late);
  expect((await outbox(table, { limit: 2 })).map(({ to }) => to)).toEqual([late.to, early.to]);
});

test("a letter that is sent twice is in the outbox twice, with one Message-ID", async () => {
  const letter = letterTo(newAddress());
  await mailAt(start).send(letter);
  await mailAt(start).send(letter);
  const mails = await outbox(table, { to: letter.to });
  expect(mails).toHaveLength(2);
  expect(new Set(mails.map(({ message_id }) => message_id)).size).toBe(1);
});

test("the outbox refuses addresses that begin with `refused-`, and does not answer for `silent-`", async () => {
  const [refused, silent] = [newAddress("refused-"), newAddress("silent-")];
  await expect(mailAt(start).send(letterTo(refused))).rejects.toBeInstanceOf(MailRefused);
  await expect(mailAt(start).send(letterTo(silent))).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(await outbox(table, { to: refused })).toEqual([]);
  expect(await outbox(table, { to: silent })).toEqual([]);
});

test.each([
  ["to", "a@example.net,b@example.net"],
  ["to", "a@example.net b@example.net"],
  ["to", "a@example.net\r\nBcc: b@example.net"],
  ["to", "a@example.net\n"],
  ["to", "Ada <a@example.net>"],
  ["to", "a@b@example.net"],
  ["to", "group:a@example.net;"],
  ["to", "a@"],
  ["to", ""],
  ["subject", "Hello\r\nBcc: b@example.net"],
  ["subject", "Hello\n"],
  ["subject", "Hello\u2028there"],
  ["subject", ""],
  ["id", "1\r\nBcc: b@example.net"],
  ["id", "1>"],
] as const)("no provider sends a letter whose %s is %j", async (member, value) => {
  const { port, received } = await startSmtp();
  const smtp = { MAIL_PROVIDER: "smtp", SMTP_URL: `smtp://127.0.0.1:${port}` };
  const letter = letterTo(newAddress(), { [member]: value });
  for (const env of [{}, smtp]) {
    await expect(mailAt(start, env).send(letter)).rejects.toThrow(`A letter cannot have this ${member}.`);
  }
  expect(received).toEqual([]);
  expect(await outbox(table, { to: letter.to })).toEqual([]);
});

test("by SMTP a letter goes to the server in the environment, from the sender in the environment", async () => {
  const { port, received } = await startSmtp();
  const env = { MAIL_PROVIDER: "smtp", SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: "Post <post@mx.example>" };
  const letter = letterTo(newAddress());
  await mailAt(start, env).send(letter);
  expect(received).toMatchObject([{ from: "post@mx.example", to: [letter.to] }]);
});

test("without a provider, only the first letter fails, and its error names the missing setting", async () => {
  const mail = mailOf(MailEnvironment.parse({}))(table, () => start);
  await expect(mail.send(letterTo(newAddress()))).rejects.toThrow("Set MAIL_PROVIDER to ses, smtp or embedded");
});

test.each([
  ["Hosted Mail <no-reply@example.com>", { name: "Hosted Mail", address: "no-reply@example.com" }],
  ["post@mail.example.com", { name: "", address: "post@mail.example.com" }],
  ["Post, & more   <post@example.com>", { name: "Post, & more", address: "post@example.com" }],
])("%j is a valid sender", (text, sender) => {
  expect(MailSender.parse(text)).toEqual(sender);
});

test.each([
  "",
  "Hosted Mail",
  "no-reply@localhost",
  "a@example.com, b@example.com",
  "Hosted Mail no-reply@example.com",
  'Hosted "Mail" <no-reply@example.com>',
  "Hosted\r\nBcc: b <no-reply@example.com>",
  "Größe <no-reply@example.com>",
  "Mail <no-reply@example.com> x",
])("%j is not a valid sender", (text) => {
  expect(MailSender.safeParse(text).success).toBe(false);
});
