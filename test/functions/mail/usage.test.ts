import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { mailboxKey } from "../../../shared/mail/mailboxes/mailbox.ts";
import { sentKey } from "../../../shared/mail/usage/sent.ts";
import { afterReading } from "../../support/between.ts";
import { write } from "../../support/domain-work.ts";
import { withFault } from "../../support/faults.ts";
import { ago, dayAgo, of, post, reportUsage, sceneWithMailbox } from "../../support/mail-reports.ts";
import { added, at, send, storedMailbox } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const gibibyte = 2 ** 30;

/** The number of sent mails that are billed to an account for today. */
async function billable({ id }: Pick<Account, "id">): Promise<unknown> {
  const [item] = await testTable().getMany([sentKey(id, dayAgo(0))]);
  return item?.["count"];
}

const usageOf = async (account: Account, { id }: { id: string }) => (await send(account, "GET", at(id, "/usage"))).body;

test("a late report of an older login does not replace a newer login", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const report = (login: string) => reportUsage({ logins: [{ ...of(account, mailbox), at: login, protocol: "imap" }] });
  await report(ago(5, 0));
  const isMailbox = ({ SK }: { SK: string }) => SK === mailboxKey(account.id, mailbox.id).SK;
  await afterReading(
    isMailbox,
    () => report(ago(0, 2)),
    () => report(ago(3, 0)),
  );
  const { body } = await send(account, "GET", at(mailbox.id));
  expect(Date.parse(body.last_login_at)).toBeGreaterThan(Date.parse(ago(1, 0)));
});

test("stores the usage of mailboxes, and shows it", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const before = await send(account, "GET", at(mailbox.id));
  const mine = of(account, mailbox);
  const { status, body } = await reportUsage({
    mailboxes: [{ ...mine, bytes: 3 * gibibyte, messages: 42, at: ago(0, 2) }],
    logins: [{ ...mine, at: ago(0, 3), protocol: "imap" }],
  });
  expect([status, body]).toEqual([200, { accepted: 2, ignored: [] }]);
  const after = await send(account, "GET", at(mailbox.id));
  expect(after.body.quota.used).toBe(3 * gibibyte);
  expect(Date.parse(after.body.last_login_at)).toBeLessThan(Date.now() - 170_000);
  expect(after.headers["etag"]).toBe(before.headers["etag"]);
  expect(after.body.updated_at).toBe(before.body.updated_at);
  expect(await usageOf(account, mailbox)).toMatchObject({ bytes: 3 * gibibyte, messages: 42, percent: 30 });
});

test("counts sent mail by recipients, for the account today and for the mailbox on the day of sending", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const sent = (days: number, recipients: number) => ({
    ...of(account, mailbox),
    address: mailbox.primary_email,
    at: ago(days),
    recipients,
  });
  await reportUsage({ sent: [sent(0, 3), sent(0, 1), sent(2, 10), sent(45, 100)] });
  expect(await billable(account)).toBe(114);
  const { sent: days } = await usageOf(account, mailbox);
  expect(days).toHaveLength(30);
  expect(days.filter(({ count }: { count: number }) => count > 0)).toEqual([
    { day: dayAgo(2), count: 10 },
    { day: dayAgo(0), count: 4 },
  ]);
  const statistics = await send(account, "GET", `statistics?domain=${mailbox.domain_name}`);
  expect(statistics.body.total).toMatchObject({ sent: 14, delivered: 0 });
});

test("a repeated batch changes nothing and gets the same answer, also after a mailbox is deleted", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const other = await added(account, mailbox.domain_name, "bob");
  const entry = (one: { id: string }) => ({ ...of(account, one), address: "a@b.example", at: ago(0), recipients: 5 });
  const batch = { sent: [entry(mailbox), entry({ id: randomUUID() }), entry(other)] };
  const batch_id = randomUUID();
  const first = await reportUsage(batch, { batch_id });
  expect(first.body).toEqual({ accepted: 2, ignored: [{ list: "sent", index: 1, reason: "unknown_mailbox" }] });
  await send(account, "DELETE", at(other.id));
  const again = await Promise.all(Array.from({ length: 4 }, () => reportUsage(batch, { batch_id })));
  for (const { status, body } of again) expect([status, body]).toEqual([200, first.body]);
  expect(await billable(account)).toBe(10);
});

test("a batch that is sent eight times at once counts once", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const sent = [{ ...of(account, mailbox), address: "a@b.example", at: ago(0), recipients: 7 }];
  const batch_id = randomUUID();
  const answers = await Promise.all(Array.from({ length: 8 }, () => reportUsage({ sent }, { batch_id })));
  for (const { status, body } of answers) expect([status, body]).toEqual([200, { accepted: 1, ignored: [] }]);
  expect(await billable(account)).toBe(7);
});

test("eight batches with different ids at the same moment are all counted", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const sent = [{ ...of(account, mailbox), address: "a@b.example", at: ago(0), recipients: 7 }];
  const answers = await Promise.all(Array.from({ length: 8 }, () => reportUsage({ sent })));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect(await billable(account)).toBe(56);
});

test("a batch that died half-way is completed by its repeat", { timeout: 60_000 }, async () => {
  const { account, mailbox } = await sceneWithMailbox();
  // 30 days of one mailbox take two transactions.
  const entry = (days: number) => ({ ...of(account, mailbox), address: "a@b.example", at: ago(days), recipients: 1 });
  const batch = { sent: Array.from({ length: 30 }, (_, days) => entry(days)) };
  const batch_id = randomUUID();
  const counts = new Set<unknown>();
  for (let call = 0; call < 9; call++) {
    const { value } = await withFault("death", call, () => reportUsage(batch, { batch_id }));
    expect([200, 503]).toContain(value.status);
    counts.add(await billable(account));
  }
  expect([...counts].some((count) => typeof count === "number" && count < 30)).toBe(true);
  expect((await reportUsage(batch, { batch_id })).body).toEqual({ accepted: 30, ignored: [] });
  expect(await billable(account)).toBe(30);
});

test("another batch with the same id is refused, and changes nothing", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const sent = (recipients: number) => [{ ...of(account, mailbox), address: "a@b.example", at: ago(1), recipients }];
  const batch_id = randomUUID();
  await reportUsage({ sent: sent(1) }, { batch_id });
  const { status, body } = await reportUsage({ sent: sent(2) }, { batch_id });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "batch_id"]]);
  expect(await billable(account)).toBe(1);
});

test("names the entries of mailboxes that the account does not have", async () => {
  const [{ account, mailbox }, other] = [await sceneWithMailbox(), await sceneWithMailbox()];
  const foreign = { account_id: other.account.id, mailbox_id: mailbox.id };
  const measured = { bytes: 1, messages: 1, at: ago(0) };
  const { body } = await reportUsage({
    mailboxes: [
      { ...foreign, ...measured },
      { ...of(account, mailbox), ...measured },
    ],
    sent: [{ ...foreign, address: "a@b.example", at: ago(0), recipients: 3 }],
    logins: [{ account_id: randomUUID(), mailbox_id: mailbox.id, at: ago(0), protocol: "smtp" }],
  });
  expect(body).toEqual({
    accepted: 1,
    ignored: ["mailboxes", "sent", "logins"].map((list) => ({ list, index: 0, reason: "unknown_mailbox" })),
  });
  expect(await billable(other.account)).toBeUndefined();
  expect((await usageOf(other.account, other.mailbox)).bytes).toBe(0);
});

test("mail that a mailbox sent before its deletion is billed, and its other usage is ignored", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  await send(account, "DELETE", at(mailbox.id));
  const mine = of(account, mailbox);
  const { body } = await reportUsage({
    mailboxes: [{ ...mine, bytes: 1, messages: 1, at: ago(0) }],
    sent: [{ ...mine, address: mailbox.primary_email, at: ago(0), recipients: 3 }],
  });
  expect(body).toEqual({ accepted: 1, ignored: [{ list: "mailboxes", index: 0, reason: "deleted_mailbox" }] });
  expect(await billable(account)).toBe(3);
});

test("an older measurement, late or in the same batch, does not replace a newer one", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const measured = (minutes: number, bytes: number) => ({
    ...of(account, mailbox),
    bytes,
    messages: 1,
    at: ago(0, minutes),
  });
  await reportUsage({ mailboxes: [measured(5, 50), measured(1, 10), measured(3, 30)] });
  await reportUsage({ mailboxes: [measured(2, 20)] });
  expect((await usageOf(account, mailbox)).bytes).toBe(10);
  // A measurement from a clock that is a year ahead does not block later measurements.
  await reportUsage({ mailboxes: [measured(-525_600, 99)] });
  expect((await usageOf(account, mailbox)).measured_at <= new Date().toISOString()).toBe(true);
  await reportUsage({ mailboxes: [measured(-1, 77)] });
  expect((await usageOf(account, mailbox)).bytes).toBe(77);
});

test("a change of the mailbox keeps its usage", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  await reportUsage({ mailboxes: [{ ...of(account, mailbox), bytes: 5, messages: 1, at: ago(0, 1) }] });
  await Promise.all([
    send(account, "PATCH", at(mailbox.id), { first_name: "Augusta" }),
    reportUsage({ mailboxes: [{ ...of(account, mailbox), bytes: 9, messages: 2, at: ago(0) }] }),
    send(account, "POST", at(mailbox.id, "/aliases"), { alias: "sales" }),
  ]);
  const stored = await storedMailbox(account, mailbox.id);
  expect(stored).toMatchObject({ used: 9, messages: 2, first_name: "Augusta", aliases: ["sales"], version: 3 });
});

test("records once that 80, 95 or 100 % of the quota is reached, and again after the usage was below", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  let minutes = 60;
  const use = (percent: number) =>
    reportUsage({
      mailboxes: [
        {
          ...of(account, mailbox),
          bytes: Math.ceil((10 * gibibyte * percent) / 100),
          messages: 1,
          at: ago(0, minutes--),
        },
      ],
    });
  const told = async (): Promise<number[]> => {
    const changes = (await recorded(account, "mailbox.quota_reached")).toReversed();
    return changes.map(({ after }) => (after as { quota: { used: number } }).quota.used / gibibyte / 0.1);
  };
  for (const percent of [79, 80, 85, 96, 97, 100, 120, 50, 81]) await use(percent);
  expect((await told()).map(Math.round)).toEqual([80, 96, 100, 81]);
});

test("a login changes the last login only if it is at least five minutes later", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const login = (minutes: number) => ({ ...of(account, mailbox), at: ago(0, minutes), protocol: "pop3" });
  await reportUsage({ logins: [login(20), login(30)] });
  const first = (await usageOf(account, mailbox)).last_login_at;
  await reportUsage({ logins: [login(17)] });
  expect((await usageOf(account, mailbox)).last_login_at).toBe(first);
  await reportUsage({ logins: [login(1)] });
  expect((await usageOf(account, mailbox)).last_login_at > first).toBe(true);
});

test("a mailbox with stored times after the year 9999 can be read, and gets new times", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const far = "+010000-01-01T23:58:59.000Z";
  await write({ update: mailboxKey(account.id, mailbox.id), set: { used_at: far, last_login_at: far } });
  expect(await usageOf(account, mailbox)).toMatchObject({ measured_at: null, last_login_at: null });
  expect((await send(account, "GET", at(mailbox.id))).status).toBe(200);
  const mine = { ...of(account, mailbox), at: ago(0, 1) };
  await reportUsage({
    mailboxes: [{ ...mine, bytes: 7, messages: 1 }],
    logins: [{ ...mine, protocol: "imap" }],
  });
  expect(await usageOf(account, mailbox)).toMatchObject({ bytes: 7, measured_at: mine.at, last_login_at: mine.at });
});

test("refuses the whole batch if a part is invalid, and names the place", async () => {
  const { account, mailbox } = await sceneWithMailbox();
  const good = { ...of(account, mailbox), address: "a@b.example", at: ago(0), recipients: 1 };
  const refused: [unknown, (string | number)[]][] = [
    [{ batch_id: "", sent: [] }, ["body", "batch_id"]],
    [{ sent: [good] }, ["body", "batch_id"]],
    [{ batch_id: "b", sent: [good, { ...good, recipients: 0 }] }, ["body", "sent", 1, "recipients"]],
    [{ batch_id: "b", sent: [{ ...good, at: "yesterday" }] }, ["body", "sent", 0, "at"]],
    [{ batch_id: "b", sent: [{ ...good, at: "0001-01-01T00:00:00Z" }] }, ["body", "sent", 0, "at"]],
    [{ batch_id: "b", sent: [{ ...good, at: "9999-12-31T23:59:59-23:59" }] }, ["body", "sent", 0, "at"]],
    [{ batch_id: "b", sent: [{ ...good, account_id: "x" }] }, ["body", "sent", 0, "account_id"]],
    [{ batch_id: "b", sent: [{ ...good, more: 1 }] }, ["body", "sent", 0, "more"]],
    [{ batch_id: "b", sents: [] }, ["body", "sents"]],
    [{ batch_id: "b", sent: Array.from({ length: 501 }, () => good) }, ["body"]],
    [[], ["body"]],
  ];
  for (const [body, loc] of refused) {
    const answer = await post("usage", body);
    expect([answer.status, answer.body.detail?.[0]?.loc], JSON.stringify(body).slice(0, 80)).toEqual([422, loc]);
  }
  expect((await post("usage", "{")).status).toBe(400);
  expect((await post("usage", "[".repeat(200_000))).status).toBe(400);
  expect((await post("usage", `"${"x".repeat(1_100_000)}"`)).status).toBe(413);
  expect((await post("usage", { batch_id: "b" }, { "x-mail-key": "wrong" })).status).toBe(401);
  expect(await billable(account)).toBeUndefined();
});

test("accepts a full batch of 500 entries, and an empty batch", { timeout: 60_000 }, async () => {
  const account = await newAccount();
  const unknown = Array.from({ length: 500 }, () => ({
    account_id: account.id,
    mailbox_id: randomUUID(),
    at: "2026-01-01T00:00:00+01:00",
    protocol: "imap",
  }));
  const { body } = await reportUsage({ logins: unknown });
  expect([body.accepted, body.ignored.length]).toEqual([0, 500]);
  expect(body.ignored.map(({ index }: { index: number }) => index)).toEqual(unknown.map((_, index) => index));
  const batch_id = randomUUID();
  for (let time = 0; time < 2; time++) {
    expect((await reportUsage({}, { batch_id })).body).toEqual({ accepted: 0, ignored: [] });
  }
  const other = await reportUsage({ logins: unknown }, { batch_id });
  expect([other.status, other.body.detail[0].loc]).toEqual([422, ["body", "batch_id"]]);
});
