import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { isSuppressed } from "../../../shared/mail/suppressions/suppression.ts";
import { activeIp, firstOf, send as sendTo } from "../../support/dedicated-ips.ts";
import { connected, funded, uniqueName } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { base64, bounce, complaint } from "../../support/mail-reports-raw.ts";
import { ago, dayAgo, of, post, reportEvents, reportUsage, sceneWithMailbox } from "../../support/mail-reports.ts";
import { home, send } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const domain = await home(account);
  return { account, domain, sender: `ada@${domain.name}` };
}

const event = (type: string, sender: string, more: object = {}) => ({
  type,
  at: ago(0),
  sender,
  recipient: "bob@far.example",
  ...more,
});

const byEmail = (one: { email: string }, other: { email: string }): number => (one.email < other.email ? -1 : 1);
const suppressed = async (account: Account) => (await send(account, "GET", "suppressions")).body.items;
const totals = async (account: Account, query: string) =>
  (await send(account, "GET", `statistics?${query}`)).body.total;

test("counts the results of mail by the day on which they happened", async () => {
  const { account, domain, sender } = await scene();
  const { status, body } = await reportEvents({
    events: [
      event("delivered", sender),
      event("delivered", sender, { recipient: "carl@far.example", at: ago(1) }),
      event("deferred", sender, { status: "4.4.1" }),
      event("bounced", sender, { status: "4.2.2" }),
      event("bounced", sender, { status: "5.1.1", recipient: "dora@far.example" }),
      event("complained", sender, { recipient: "emil@far.example" }),
      event("delivered", sender, { at: ago(40) }),
    ],
  });
  expect([status, body]).toEqual([200, { accepted: 7, ignored: [] }]);
  const { body: statistics } = await send(account, "GET", `statistics?domain=${domain.id}`);
  const counts = { sent: 0, delivered: 2, deferred: 1, soft_bounced: 1, hard_bounced: 1, complained: 1 };
  expect(statistics.total).toEqual(counts);
  expect(statistics.days.slice(-2)).toEqual([
    { day: dayAgo(1), ...counts, delivered: 1, deferred: 0, soft_bounced: 0, hard_bounced: 0, complained: 0 },
    { day: dayAgo(0), ...counts, delivered: 1 },
  ]);
});

test("suppresses the recipient of a hard bounce and of a complaint, and no other recipient", async () => {
  const { account, sender } = await scene();
  await reportEvents({
    events: [
      event("bounced", sender, { status: "5.1.1", diagnostic: "550 5.1.1\r\n no\u0000 such user\u200b" }),
      event("complained", sender, { recipient: "Carl+x@Far.Example" }),
      event("bounced", sender, { status: "5.2.2", recipient: "full@far.example" }),
      event("bounced", sender, { recipient: "unclear@far.example" }),
      event("deferred", sender, { status: "4.1.1", recipient: "later@far.example" }),
      event("delivered", sender, { recipient: "happy@far.example" }),
      event("bounced", sender, { status: "5.1.1", recipient: "not an address" }),
    ],
  });
  const items: { email: string }[] = (await suppressed(account)).toSorted(byEmail);
  expect(items).toMatchObject([
    { email: "bob@far.example", reason: "bounce", status: "5.1.1", detail: "550 5.1.1 no such user" },
    { email: "carl+x@far.example", reason: "complaint", status: null, detail: null },
  ]);
  const changes = await recorded(account, "suppression.added");
  expect(new Set(changes.map(({ after }) => after?.["email"]))).toEqual(new Set(items.map(({ email }) => email)));
  expect(changes[0]).toMatchObject({ actor_type: "system", actor_id: "mail_servers" });
  expect(await isSuppressed(testTable(), account.id, " BOB@far.example")).toBe(true);
  expect(await isSuppressed(testTable(), account.id, "full@far.example")).toBe(false);
  expect(await isSuppressed(testTable(), (await newAccount()).id, "bob@far.example")).toBe(false);
});

test("an address is suppressed once, also if it bounces several times and at the same moment", async () => {
  const { account, sender } = await scene();
  const events = [
    event("bounced", sender, { status: "5.1.1" }),
    event("bounced", sender, { status: "5.2.1", recipient: '<"BOB"@far.example>' }),
    event("complained", sender),
  ];
  const answers = await Promise.all(Array.from({ length: 6 }, () => reportEvents({ events })));
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
  const items = await suppressed(account);
  expect(items).toHaveLength(1);
  await reportEvents({ events });
  expect(await suppressed(account)).toEqual(items);
  expect(await recorded(account, "suppression.added")).toHaveLength(1);
  expect(await totals(account, `domain=${sender.split("@")[1]}`)).toMatchObject({ hard_bounced: 14, complained: 7 });
});

test("the same batch again changes nothing and has the same answer; an interrupted batch is completed", async () => {
  const { account, sender } = await scene();
  const events = Array.from({ length: 30 }, (_, index) =>
    event("bounced", index === 7 ? "ada@nobody.example" : sender, {
      status: "5.1.1",
      recipient: `r${index}@far.example`,
    }),
  );
  const reports = [{ id: "q1", sender, recipient: "bob@far.example", raw: base64(bounce([{}])) }];
  const batch_id = randomUUID();
  for (let call = 0; call < 14; call += 2) {
    const { value } = await withFault("death", call, () => reportEvents({ events, reports }, { batch_id }));
    expect([200, 503]).toContain(value.status);
  }
  const first = await reportEvents({ events, reports }, { batch_id });
  expect(first.body).toEqual({ accepted: 30, ignored: [{ list: "events", index: 7, reason: "unknown_sender" }] });
  expect((await reportEvents({ events, reports }, { batch_id })).body).toEqual(first.body);
  expect(await totals(account, `domain=${sender.split("@")[1]}`)).toMatchObject({ hard_bounced: 30 });
  expect((await send(account, "GET", "suppressions")).body.total).toBe(30);
  const other = await reportEvents({ events: events.slice(1), reports }, { batch_id });
  expect([other.status, other.body.detail[0].loc]).toEqual([422, ["body", "batch_id"]]);
});

test("ignores events of unknown domains, unproved domains and other accounts, and returns their indexes", async () => {
  const { account, domain, sender } = await scene();
  const unproved = await connected(account);
  const events = [
    event("delivered", `ada@${uniqueName("nobody")}`),
    event("delivered", `ada@${unproved.name}`),
    event("delivered", ""),
    event("delivered", "<>"),
    event("bounced", sender, { status: "5.1.1", account_id: (await newAccount()).id }),
    event("delivered", `<${sender.toUpperCase()}>`, { account_id: account.id }),
  ];
  const { body } = await reportEvents({ events });
  expect(body).toEqual({
    accepted: 1,
    ignored: [0, 1, 2, 3, 4].map((index) => ({
      list: "events",
      index,
      reason: index === 4 ? "foreign_sender" : "unknown_sender",
    })),
  });
  expect(await totals(account, `domain=${domain.name}`)).toMatchObject({ delivered: 1, hard_bounced: 0 });
  expect(await suppressed(account)).toEqual([]);
});

test("reads reports of bounces and complaints, and names the reports that it cannot read", async () => {
  const { account, domain, sender } = await scene();
  const [bob, full, carl] = ["bob@far.example", "full@far.example", "carl@far.example"];
  const status = bounce([{ diagnostic: "550 gone" }, { recipient: full, status: "5.2.2" }]);
  const reported: [raw: string, recipient: string, sender?: string][] = [
    [status, bob],
    [status, full],
    [complaint(["Feedback-Type: abuse"]), carl],
    ["Hello", bob],
    [bounce([{}]), bob, "ada@nobody.example"],
    ["\u0000".repeat(100_000), bob],
  ];
  const reports = reported.map(([raw, recipient, from = sender], index) => {
    return { id: `q${index}`, sender: from, recipient, raw: base64(raw) };
  });
  const unread = { id: "q6", sender, recipient: bob, raw: "%" };
  const { status: code, body } = await reportEvents({ reports: [...reports, unread] });
  expect([code, body.accepted, body.ignored]).toEqual([
    200,
    3,
    [
      { list: "reports", index: 3, reason: "not_a_report" },
      { list: "reports", index: 4, reason: "unknown_sender" },
      { list: "reports", index: 5, reason: "not_a_report" },
      { list: "reports", index: 6, reason: "not_base64" },
    ],
  ]);
  const items: { email: string; reason: string }[] = await suppressed(account);
  expect(items.toSorted(byEmail).map(({ email, reason }) => [email, reason])).toEqual([
    [bob, "bounce"],
    [carl, "complaint"],
  ]);
  const counts = { hard_bounced: 1, soft_bounced: 1, complained: 1 };
  expect(await totals(account, `domain=${domain.name}`)).toMatchObject(counts);
});

test("a forged report suppresses nothing in another account, and no address except the recipient of the mail", async () => {
  const [{ account, sender }, victim] = [await scene(), await scene()];
  const raws = [
    bounce([{ recipient: "partner@far.example" }], { from: victim.sender }),
    complaint(["Feedback-Type: abuse", "Original-Rcpt-To: partner@far.example"], { from: victim.sender }),
    complaint([`Original-Mail-From: ${victim.sender}`, "Feedback-Type: abuse"], { to: "partner@far.example" }),
  ];
  const reports = raws.map((raw, index) => {
    return { id: `q${index}`, sender, recipient: "bob@far.example", raw: base64(raw) };
  });
  const { body } = await reportEvents({ reports });
  expect(body.ignored).toEqual([0, 1].map((index) => ({ list: "reports", index, reason: "other_recipient" })));
  expect(await suppressed(victim.account)).toEqual([]);
  expect(await suppressed(account)).toMatchObject([{ email: "bob@far.example", reason: "complaint" }]);
});

test("counts an event for the dedicated IP of its source address or its domain, and shows the reputation and warm-up of the IP", async () => {
  const { account, mailbox, domain } = await sceneWithMailbox();
  await funded(account);
  const ip = await activeIp(account);
  const sender = mailbox.primary_email;
  const read = async () => (await sendTo(account, "GET", `/${ip.id}`)).body;
  expect(await read()).toMatchObject({
    reputation: { state: "good", mails: 0, bounce_rate: 0, complaint_rate: 0 },
    warm_up: { day: 1, days: 28, daily_limit: 50, sent_today: 0 },
  });
  await sendTo(account, "POST", `/${ip.id}/domains/assign`, { domains: [domain.name] });
  const sent = [{ ...of(account, mailbox), address: sender, at: ago(0), recipients: 40 }];
  await reportUsage({ sent });
  const events = [
    ...Array.from({ length: 99 }, () => event("delivered", sender)),
    ...Array.from({ length: 3 }, (_, index) =>
      event("bounced", sender, { status: "5.1.1", recipient: `r${index}@far.example`, source_ip: firstOf(ip).ip }),
    ),
    event("delivered", sender, { source_ip: "192.0.2.99" }),
  ];
  await reportEvents({ events });
  const after = await read();
  expect(after.reputation).toEqual({
    state: "watch",
    days: 30,
    mails: 102,
    hard_bounced: 3,
    complained: 0,
    bounce_rate: 0.0294,
    complaint_rate: 0,
  });
  expect(after.warm_up.sent_today).toBe(40);
  const { body } = await send(account, "GET", `statistics?dedicated_ip_id=${ip.id}`);
  expect([body.dedicated_ip_id, body.domain_id]).toEqual([ip.id, null]);
  expect(body.total).toMatchObject({ sent: 40, delivered: 99, hard_bounced: 3 });
  expect(await totals(account, `domain=${domain.name}`)).toMatchObject({ sent: 40, delivered: 100 });
  expect(JSON.stringify((await sendTo(account, "GET", "")).body)).not.toContain("reputation");
});

test("an event with the IP of another account is not counted for that IP", async () => {
  const [one, other] = [await funded(await newAccount()), await scene()];
  const ip = await activeIp(one);
  await reportEvents({ events: [event("delivered", other.sender, { source_ip: firstOf(ip).ip })] });
  expect(await totals(one, `dedicated_ip_id=${ip.id}`)).toMatchObject({ delivered: 0 });
  expect(await totals(other.account, `domain=${other.domain.name}`)).toMatchObject({ delivered: 1 });
});

test("refuses the whole batch if a part is invalid, and names the place", async () => {
  const { account, sender } = await scene();
  const good = event("complained", sender);
  const report = { id: "q", sender, recipient: "bob@far.example", raw: "" };
  const refused: [object, (string | number)[]][] = [
    [{ events: [good, { ...good, type: "lost" }] }, ["body", "events", 1, "type"]],
    [{ events: [{ ...good, status: "5.1" }] }, ["body", "events", 0, "status"]],
    [{ events: [{ ...good, source_ip: "here" }] }, ["body", "events", 0, "source_ip"]],
    [{ events: [{ ...good, recipient: "" }] }, ["body", "events", 0, "recipient"]],
    [{ events: [{ ...good, at: 5 }] }, ["body", "events", 0, "at"]],
    [{ events: [{ ...good, at: "9999-12-31T23:59:59-23:59" }] }, ["body", "events", 0, "at"]],
    [{ reports: [{ ...report, raw: undefined }] }, ["body", "reports", 0, "raw"]],
    [{ reports: [{ ...report, sender: undefined }] }, ["body", "reports", 0, "sender"]],
    [{ reports: [{ ...report, recipient: undefined }] }, ["body", "reports", 0, "recipient"]],
    [{ reports: Array.from({ length: 21 }, () => report) }, ["body", "reports"]],
    [{ events: Array.from({ length: 501 }, () => good) }, ["body"]],
  ];
  for (const [batch, loc] of refused) {
    const { status, body } = await reportEvents(batch);
    expect([status, body.detail?.[0]?.loc]).toEqual([422, loc]);
  }
  expect((await post("events", { batch_id: "b", events: [good] }, { "x-mail-key": "" })).status).toBe(401);
  expect(await suppressed(account)).toEqual([]);
});
