import { expect, test } from "vitest";
import * as z from "zod";

import { routes } from "../../../functions/routes.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import type { StoredAccount } from "../../../shared/accounts/account.ts";
import { dayMs, later } from "../../../shared/core/time.ts";
import { letterOf, sentence } from "../../../shared/letters/letter.ts";
import type { Notice, NoticeEvent, NoticeMaker } from "../../../shared/notices/notice.ts";
import { noticeMakers } from "../../../shared/notices/notices.ts";
import { eventTypes } from "../../../shared/webhooks/event-types.ts";
import { send } from "../../support/mailboxes.ts";
import { eventFor, eventsOf } from "../../support/notices.ts";
import { advanceAt, daysFrom, ownedName, registrationAt } from "../../support/renewals.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

const account = { id: "7c9e6679-7425-40de-944b-e07fc1f90ae7" };
const bob = "0b0b0b0b-7425-40de-944b-e07fc1f90ae7";
/** The accounts of the events that are news only if the account has a certain status. */
const accounts: Record<string, Parameters<NoticeMaker>[2]> = {
  "billing.topup.paid": { status: "closed", updated_at: "2020-01-01T00:00:00.000Z" },
};

const noticeOf = (event: NoticeEvent): Notice | undefined =>
  noticeMakers[event.type]?.(event, ({ type, id }) => `${type} ${id}`, accounts[event.type]);

/** The subject of a notice, and the text of its blocks in one line. */
function readingOf(event: NoticeEvent): { subject: string; text: string } {
  const notice = noticeOf(event);
  if (!notice) throw new Error(`${event.type} is no news`);
  const { subject, text } = letterOf({ ...notice, foot: sentence`foot` });
  return { subject, text: text.replaceAll(/\s+/g, " ") };
}

const at = "2026-11-23T12:00:00.000Z";
const inDays = (days: number): string => later(new Date(at), days * dayMs);
const renewal = {
  id: account.id,
  status: "failed",
  reason: "The renewal costs 14.00 USD. The wallet lacks 4.00 USD.",
  years: 1,
  price: "14.00",
  restore_fee: "0.00",
  currency: "USD",
  by: "auto",
  started_at: at,
};
const registration = {
  status: "active",
  registrar_status: [],
  expires_at: inDays(7),
  grace_ends_at: inDays(37),
  redemption_ends_at: inDays(67),
  locked: true,
  privacy: true,
};
const domain = {
  id: account.id,
  workspace_id: account.id,
  name: "xn--bcher-kva.example",
  unicode_name: "bücher.example",
  status_reason: "The MX record is missing.",
  deletes_at: inDays(30),
  registration,
  renewal: null,
  transfer: null,
  auto_renew: false,
};
const domainEvent = (type: string, data: object = {}): NoticeEvent =>
  eventFor(account, type, { timestamp: at, actor: { type: "user", id: "ada" }, data: { ...domain, ...data } });
const expiring = (expires: number, more: object = {}): NoticeEvent =>
  domainEvent("domain.expiring", {
    registration: { ...registration, expires_at: inDays(expires), grace_ends_at: inDays(expires + 30) },
    ...more,
  });
const shortage = { missing: "4.00", expected_charge: "7.00", available: "3.00", currency: "USD" };
const recharge = { amount: "20.00", currency: "USD", reason: "Your card was declined." };
const owing = { ...recharge, owed: "15.00" };
const grant = { id: account.id, grant_kind: "account_owner", subject_type: "user", subject_id: bob };

/** For each status of an account, the words for the status in the mail's subject, and a part of the mail's text. */
const statusMails = {
  past_due: { words: "past due", says: "/billing/invoices" },
  suspended: { words: "suspended", says: "still receive mail" },
  active: { words: "active again", says: "do nothing" },
  closed: { words: "closed", says: "cannot be opened again" },
};

/** Events of every type that can be news, with the subject of the mail and a part of its text. */
const events: [subject: string, event: NoticeEvent, says: string][] = [
  ["bücher.example expires in 7 days", expiring(7), "ends on 30 November 2026, 12:00 UTC"],
  ["bücher.example expires in 1 day", expiring(1, { auto_renew: true, renewal }), "The wallet lacks 4.00 USD."],
  ["bücher.example expires in 30 days", expiring(30, { auto_renew: true }), "Automatic renewal is on"],
  [
    "bücher.example expires in 7 days",
    expiring(7, { auto_renew: true, renewal: { ...renewal, status: "running", reason: null } }),
    "the registry has not confirmed it yet",
  ],
  ["bücher.example has expired", expiring(0), "Its mail works until 23 December 2026, 12:00 UTC"],
  ["The mail of bücher.example stops in 7 days", expiring(-23), "ended on 31 October 2026"],
  ["bücher.example does not work any more", domainEvent("domain.expired"), "until 29 January 2027"],
  ["bücher.example could not be renewed", domainEvent("domain.renewal_failed", { renewal }), "lacks 4.00 USD"],
  ["bücher.example was renewed", domainEvent("domain.renewed", { renewal }), "Price: 14.00 USD"],
  ["bücher.example could not be registered", domainEvent("domain.registration_failed"), "is free again"],
  ["bücher.example was transferred to us", domainEvent("domain.transferred"), "is complete"],
  [
    "bücher.example could not be transferred",
    domainEvent("domain.transfer_failed", { transfer: { ...renewal, reason: "The auth code is wrong." } }),
    "The auth code is wrong.",
  ],
  [
    "bücher.example was transferred to another registrar",
    domainEvent("domain.transferred_out"),
    "write to that registrar",
  ],
  [
    "The transfer of bücher.example was prepared",
    domainEvent("domain.auth_code_created"),
    "user ada asked for the code",
  ],
  ["You have lost bücher.example", domainEvent("domain.released"), "until 23 December 2026"],
  ["bücher.example was deleted", domainEvent("domain.releasing"), "user ada deleted the domain"],
  [
    "Another account has taken over bücher.example",
    domainEvent("domain.taken_over", { name: "xn--bcher-kva.com" }),
    `/domains {"name":"xn--`,
  ],
  [
    "Another account has taken over bücher.example",
    domainEvent("domain.taken_over", { registration: null }),
    "/domains/xn--bcher-kva.example/restore",
  ],
  ["The DNS of bücher.example has a fault", domainEvent("domain.degraded"), "The MX record is missing."],
  ["The DNS of bücher.example is right again", domainEvent("domain.recovered"), "You need to do nothing"],
  ...(["past_due", "suspended", "active", "closed"] as const).flatMap((status) =>
    ["system", "operator"].map((type): [string, NoticeEvent, string] => [
      `Your account is ${statusMails[status].words}`,
      eventFor(account, "account.updated", {
        actor: { type, id: type },
        data: { status },
        previous_data: { status: status === "active" ? "past_due" : "active" },
      }),
      statusMails[status].says,
    ]),
  ),
  [
    "Your account has a new owner",
    eventFor(account, "auth.grant.created", { data: grant }),
    `user ${bob} became an owner`,
  ],
  [
    "An ownership of your account was revoked",
    eventFor(account, "auth.grant.revoked", { data: grant }),
    `The ownership of user ${bob} was revoked on`,
  ],
  [
    "An ownership of your account has ended",
    eventFor(account, "auth.grant.expired", { data: { ...grant, expires_at: "2026-11-23T11:57:00.000Z" } }),
    `The ownership of user ${bob} ended by itself on 23 November 2026, 11:57 UTC. This end date was set for the ownership.`,
  ],
  [
    "Your wallet is running low",
    eventFor(account, "billing.wallet.low_balance", {
      data: { balance: "9.00", available: "8.00", threshold: "10.00" },
    }),
    "Balance: 9.00 USD Available: 8.00 USD Warning below: 10.00 USD",
  ],
  [
    "Your wallet will not cover the invoice of 1 December 2026",
    eventFor(account, "billing.wallet.past_due_soon", { data: { ...shortage, days: 7, due_on: "2026-12-01" } }),
    `due on 1 December 2026`,
  ],
  [
    "Your account is suspended on 14 December 2026",
    eventFor(account, "billing.wallet.suspension_soon", { data: { ...shortage, days: 1, suspends_on: "2026-12-14" } }),
    `{"amount":"4.00"}`,
  ],
  ...(["open", "paid"] as const).map((status): [string, NoticeEvent, string] => [
    "Invoice 7c9e6679-000042: 12.00 USD",
    eventFor(account, "billing.invoice.created", {
      data: {
        number: "7c9e6679-000042",
        period_start: "2026-10-01",
        period_end: "2026-10-31",
        amount: "12.00",
        currency: "USD",
        status,
      },
    }),
    "Period: 1 October 2026 to 31 October 2026",
  ]),
  [
    "The service account Deploys expires in 7 days",
    eventFor(account, "auth.service_account.expiring", {
      timestamp: at,
      data: { name: "Deploys", expires_at: inDays(7) },
    }),
    "work until 30 November 2026, 12:00 UTC",
  ],
  [
    "Credit note 7c9e6679-C000001: 4.00 USD",
    eventFor(account, "billing.credit_note.created", {
      data: {
        number: "7c9e6679-C000001",
        invoice_number: "7c9e-1",
        reason: "Paid twice",
        amount: "4.00",
        currency: "USD",
      },
    }),
    "Reason: Paid twice",
  ],
  [
    "The wallet could not be recharged",
    eventFor(account, "billing.recharge.failed", { data: recharge }),
    "Your card was declined.",
  ],
  [
    "The wallet could not be recharged",
    eventFor(account, "billing.recharge.failed", { data: { ...recharge, retry_at: inDays(1) } }),
    "We try again on 24 November 2026.",
  ],
  [
    "Confirm the recharge of your wallet",
    eventFor(account, "billing.recharge.action_required", {
      data: { ...recharge, action_url: "https://pay.example.com/x" },
    }),
    "https://pay.example.com/x",
  ],
  [
    "Automatic recharges are switched off",
    eventFor(account, "billing.recharge.disabled", { data: {} }),
    "Save another card",
  ],
  ["A payment is disputed", eventFor(account, "billing.dispute.opened", { data: recharge }), "A payment of 20.00 USD"],
  [
    "A disputed payment is yours again",
    eventFor(account, "billing.dispute.won", { data: recharge }),
    "in the wallet again",
  ],
  ["A payment is disputed", eventFor(account, "billing.dispute.opened", { data: owing }), "You owe 15.00 USD"],
  [
    "Automatic recharges have reached their limit for this month",
    eventFor(account, "billing.recharge.limit_reached", {
      data: { ...recharge, reason: "You allow 4 recharges a month." },
    }),
    "You allow 4 recharges a month.",
  ],
  [
    "We got a payment for your closed account",
    eventFor(account, "billing.topup.paid", { data: { ...recharge, status: "paid" } }),
    "A payment of 20.00 USD arrived after the account was closed.",
  ],
  [
    "Your plan has ended",
    eventFor(account, "billing.plan.ended", {
      data: { plan_id: null, from: "2026-11-01" },
      timestamp: "2026-11-02T00:20:00.000Z",
    }),
    "The account has had no plan since 1 November 2026. Mail is received, read and forwarded, but nothing is sent. On 2 December 2026 the mailboxes are closed",
  ],
  ["Your mailboxes are closed", eventFor(account, "billing.plan.lapsed", { data: {} }), `{"plan_id":"per_mailbox"}`],
  [
    "A refund could not be paid out",
    eventFor(account, "billing.refund.failed", { data: recharge }),
    "The money is in the wallet again.",
  ],
  ["A payment was refunded", eventFor(account, "billing.refund.created", { data: recharge }), "out of the wallet"],
  ["A disputed payment is lost", eventFor(account, "billing.dispute.lost", { data: recharge }), "for good"],
];

test.each(events)("%s", (subject, event, says) => {
  const reading = readingOf(event);
  expect(reading.subject).toBe(subject);
  expect(reading.text).toContain(says);
  expect(reading.text).not.toMatch(/undefined|null|NaN|\[object/);
});

test("a mail about a debt has the amount and the day only while the account has the status in the mail", () => {
  const debt = { missing: 1_250, currency: "EUR", suspends_on: "2026-12-14" };
  const readingFor = (
    status: "past_due" | "suspended",
    now: Pick<StoredAccount, "debt"> & { status: "past_due" | "suspended" | "active" },
  ): string => {
    const event = eventFor(account, "account.updated", { data: { status }, previous_data: { status: "active" } });
    const notice = noticeMakers[event.type]?.(event, () => "", { updated_at: event.timestamp, ...now });
    return notice ? letterOf({ ...notice, foot: sentence`foot` }).text.replaceAll(/\s+/g, " ") : "";
  };
  const pastDue = readingFor("past_due", { status: "past_due", debt });
  expect(pastDue).toContain("To pay: 12.50 EUR Suspended on: 14 December 2026");
  expect(pastDue).toContain(`{"amount":"12.50"}`);
  expect(readingFor("suspended", { status: "suspended", debt: { missing: 1_250, currency: "USD" } })).toContain(
    "To pay: 12.50 USD",
  );
  for (const now of [{ status: "suspended" as const, debt }, { status: "active" as const }]) {
    expect(readingFor("past_due", now)).toContain("If this amount stays unpaid for 14 days");
    expect(readingFor("past_due", now)).not.toContain("To pay:");
  }
});

test.each([undefined, null])("the mail about a failed recharge promises no attempt if retry_at is %s", (retry_at) => {
  const event = eventFor(account, "billing.recharge.failed", { data: { ...recharge, retry_at } });
  expect(readingOf(event).text).not.toContain("again");
});

test("a paid top-up makes a mail only if the account was closed before it", () => {
  const event = eventFor(account, "billing.topup.paid", { data: { amount: "20.00" } });
  const make = (status: "active" | "closed", updated_at: string) =>
    noticeMakers[event.type]?.(event, () => "", { status, updated_at });
  expect(make("active", "2020-01-01T00:00:00.000Z")).toBeUndefined();
  expect(make("closed", "2999-01-01T00:00:00.000Z")).toBeUndefined();
  expect(make("closed", "2020-01-01T00:00:00.000Z")).toMatchObject({ category: "account" });
});

test("this test covers every type of event that can be news", () => {
  expect(new Set(events.map(([, { type }]) => type))).toEqual(new Set(Object.keys(noticeMakers)));
});

test("every type of event that can be news is a type of event", () => {
  const types = new Set(eventTypes().map(({ type }) => type));
  expect(Object.keys(noticeMakers).filter((type) => !types.has(type))).toEqual([]);
});

test("every call that a mail names exists, and accepts the body that the mail shows", () => {
  const commands = events.flatMap(([, event]) =>
    (noticeOf(event)?.blocks ?? []).flatMap((block) => ("command" in block ? [block.command] : [])),
  );
  expect(commands.length).toBeGreaterThan(20);
  for (const command of commands) {
    const [, method, path = "", body = "{}"] = /^(\S+) (\S+)(?: (.+))?$/.exec(command) ?? [];
    const route = routes.find(
      ({ http }) => http.method === method && new RegExp(`^${http.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
    );
    expect(route, command).toBeDefined();
    expect(route?.body.safeParse(JSON.parse(body)), command).toMatchObject({ success: true });
  }
});

test("an event that is no news for people makes no mail", () => {
  expect(noticeOf(domainEvent("domain.renewed", { renewal: { ...renewal, by: "request" } }))).toBeUndefined();
  expect(noticeOf(domainEvent("domain.releasing", { deletes_at: null }))).toBeUndefined();
  expect(noticeOf(expiring(30, { auto_renew: true, renewal }))).toBeUndefined();
  const other = { ...grant, grant_kind: "capability", capability_key: "domain.view" };
  expect(noticeOf(eventFor(account, "auth.grant.created", { data: other }))).toBeUndefined();
  const same = { data: { status: "active" }, previous_data: { status: "active" } };
  expect(noticeOf(eventFor(account, "account.updated", same))).toBeUndefined();
});

test("failed daily renewals of a name have the same `matter` for 15 days, and a failed renewal on request has none", () => {
  // Notices with the same `matter` make one mail.
  const matters = Array.from({ length: 30 }, (_, index) =>
    noticeOf(
      domainEvent("domain.renewal_failed", {
        renewal,
        registration: { ...registration, expires_at: inDays(30 - index) },
      }),
    ),
  ).map((notice) => notice?.matter?.split(" ").at(-1));
  expect(matters).toEqual([...Array(15).fill("1"), ...Array(15).fill("0")]);
  const asked = noticeOf(domainEvent("domain.renewal_failed", { renewal: { ...renewal, by: "request" } }));
  expect(asked?.matter).toBeUndefined();
});

test("the recorded events of names, accounts and owners make notices with the right texts", async () => {
  const { account: owner, name } = await ownedName("", 0);
  const { expiresAt } = await registrationAt(name);
  await advanceAt(owner, name, daysFrom(expiresAt, -29));
  await advanceAt(owner, name, daysFrom(expiresAt, -6));
  const subjects = (await eventsOf(owner, "domain.renewal_failed", "domain.expiring")).map((event) =>
    noticeOf(event) ? readingOf(event).subject : "",
  );
  expect(subjects.toSorted()).toEqual([
    "",
    `${name} could not be renewed`,
    `${name} could not be renewed`,
    `${name} expires in 6 days`,
  ]);

  const other = await newAccount();
  const member = await newMember(other, { owner: true });
  await setAccountStatus(testTable(), other.id, "past_due", new Date());
  expect((await eventsOf(other, "account.updated")).map((event) => readingOf(event).subject)).toEqual([
    "Your account is past due",
  ]);
  const { text } = await send(other, "GET", "auth/authorizations");
  const grants = z.array(z.object({ id: z.string(), subject_id: z.string() })).parse(JSON.parse(text));
  const held = grants.find(({ subject_id }) => subject_id === member.id);
  await send(other, "DELETE", `auth/authorizations/${held?.id ?? ""}`);
  expect((await eventsOf(other, "auth.grant.revoked")).map((event) => readingOf(event).text)).toEqual([
    expect.stringContaining(`The ownership of user ${member.id} was revoked on`),
  ]);
});
