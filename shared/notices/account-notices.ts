import * as z from "zod";

import { AccountStatus, type Debt } from "../accounts/account.ts";
import { money } from "../core/money.ts";
import { countText } from "../core/text.ts";
import { dayMs, Timestamp } from "../core/time.ts";
import { Grant } from "../grants/assignment.ts";
import { type Block, type Sentence, sentence } from "../letters/letter.ts";
import { graceDays } from "../wallet/catalogue.ts";
import {
  amountText,
  callOf,
  dateText,
  type Notice,
  type NoticeEvent,
  type NoticeMaker,
  paragraph,
  timeText,
  topUp,
} from "./notice.ts";

const EventAccount = z.object({ status: AccountStatus });

/** The parts of a letter that say how to pay the missing amount, and which call lists the invoices. */
const pay = (event: NoticeEvent, debt: Debt | undefined): Block[] => [
  ...topUp(event, debt && money(debt.missing)),
  paragraph`This call lists the invoices:`,
  callOf(event, "GET", "/billing/invoices"),
];

/**
 * The facts about a debt: the missing amount, and the day of the suspension if there is one. None if the debt is not
 * known.
 */
const debtFacts = (debt: Debt | undefined): Block[] =>
  debt === undefined
    ? []
    : [
        {
          facts: [
            ["To pay", amountText(money(debt.missing), debt.currency)],
            ...(debt.suspends_on === undefined ? [] : [["Suspended on", dateText(debt.suspends_on)] as const]),
          ],
        },
      ];

/** Whether billing made the change, and not the operator. */
const isByBilling = ({ actor }: NoticeEvent): boolean => actor.type === "system";

/** What happens if the account does not pay a debt. */
const afterGrace = (debt: Debt | undefined): Sentence =>
  debt?.suspends_on === undefined
    ? sentence`If this amount stays unpaid for ${graceDays} days, the account is suspended.`
    : sentence`If this amount stays unpaid, the account is suspended on ${dateText(debt.suspends_on)}. Then nobody can log in to a mailbox, and nothing can be sent or changed.`;

const ofStatus: Record<
  AccountStatus,
  (event: NoticeEvent, debt: Debt | undefined) => Pick<Notice, "subject" | "blocks">
> = {
  past_due: (event, debt) => ({
    subject: sentence`Your account is past due`,
    blocks: isByBilling(event)
      ? [
          paragraph`Everything works as before for now, but the wallet could not pay the due amount. ${afterGrace(debt)}`,
          ...debtFacts(debt),
          ...pay(event, debt),
          paragraph`The due amount is paid as soon as the wallet has the money. Then the account is active again.`,
        ]
      : [paragraph`The operator has marked your account as past due.`, ...pay(event, debt)],
  }),
  suspended: (event, debt) => ({
    subject: sentence`Your account is suspended`,
    blocks: [
      isByBilling(event)
        ? paragraph`The due amount was not paid for ${graceDays} days.`
        : paragraph`The operator has suspended your account.`,
      paragraph`Since ${timeText(event.timestamp)} nobody can log in to a mailbox, and nothing can be sent or changed. Mailboxes still receive mail, and the API still shows everything.`,
      ...(isByBilling(event)
        ? [
            ...debtFacts(debt),
            ...pay(event, debt),
            paragraph`The account is active again as soon as everything is paid.`,
          ]
        : [paragraph`Write to the support of Hosted Mail to learn more.`]),
    ],
  }),
  active: () => ({
    subject: sentence`Your account is active again`,
    blocks: [paragraph`Everything works as before. You need to do nothing.`],
  }),
  closed: (event) => ({
    subject: sentence`Your account is closed`,
    blocks: [
      paragraph`The account was closed on ${timeText(event.timestamp)}. It cannot be opened again. Its mailboxes receive no mail any more, and nobody can log in to them. The API still shows everything.`,
      paragraph`If this was not meant to happen, write to the support of Hosted Mail.`,
    ],
  }),
};

const statusChanged: NoticeMaker = (event, _, account) => {
  const { status } = EventAccount.parse(event.data);
  const before = EventAccount.safeParse(event.previous_data).data;
  if (before === undefined || before.status === status) return undefined;
  // `account.debt` belongs to the present status of the account, which can be later than the status in the event.
  const debt = account?.status === status ? account.debt : undefined;
  return { category: "account", ...ofStatus[status](event, debt) };
};

const EventGrant = Grant.pick({ id: true, grant_kind: true, subject_type: true, subject_id: true, expires_at: true });

const ownershipSubjects = {
  created: sentence`Your account has a new owner`,
  revoked: sentence`An ownership of your account was revoked`,
  expired: sentence`An ownership of your account has ended`,
};

/**
 * The notice that somebody became an owner of the account, or that an ownership was revoked or has ended. The owner may
 * have another ownership, for example through a group. So the notice does not say that the person is no owner any more.
 */
const ownership =
  (verb: keyof typeof ownershipSubjects): NoticeMaker =>
  (event, nameOf) => {
    const grant = EventGrant.parse(event.data);
    if (grant.grant_kind !== "account_owner") return undefined;
    const owner = nameOf({ type: grant.subject_type, id: grant.subject_id });
    const happened = {
      created: sentence`${owner} became an owner of the account on ${timeText(event.timestamp)}. An owner may do everything, and may also remove other owners.`,
      revoked: sentence`The ownership of ${owner} was revoked on ${timeText(event.timestamp)}.`,
      expired: sentence`The ownership of ${owner} ended by itself on ${timeText(grant.expires_at ?? event.timestamp)}. This end date was set for the ownership.`,
    };
    return {
      category: "security",
      subject: ownershipSubjects[verb],
      blocks: [
        { paragraph: happened[verb] },
        verb === "expired"
          ? paragraph`If the ownership should not have ended, grant it again. These calls show who has access, and what has changed:`
          : paragraph`${nameOf(event.actor)} made this change. If it was not meant to happen, look at who has access, and at the changes that were made:`,
        callOf(event, "GET", "/auth/authorizations"),
        callOf(event, "GET", "/audit-log"),
      ],
      ...(grant.subject_type === "user" ? { alsoTo: grant.subject_id } : {}),
    };
  };

const EventServiceAccount = z.object({ name: z.string(), expires_at: Timestamp });

const serviceAccountExpiring: NoticeMaker = (event) => {
  const { name, expires_at } = EventServiceAccount.parse(event.data);
  const days = Math.max(1, Math.round((Date.parse(expires_at) - Date.parse(event.timestamp)) / dayMs));
  return {
    category: "security",
    subject: sentence`The service account ${name} expires in ${countText(days, "day")}`,
    blocks: [
      paragraph`The tokens of the service account ${name} work until ${timeText(expires_at)}. Programs that use them get 401 after that. A rotation of the token does not change this time.`,
      paragraph`Create another service account, give it the same roles, and change the programs to its token:`,
      callOf(event, "POST", "/auth/service-accounts", { name }),
      paragraph`If no program needs it any more, you need to do nothing.`,
    ],
  };
};

/** The notices about an account, its owners and its service accounts, by the type of their event. */
export const accountNotices: Record<string, NoticeMaker> = {
  "account.updated": statusChanged,
  "auth.service_account.expiring": serviceAccountExpiring,
  "auth.grant.created": ownership("created"),
  "auth.grant.revoked": ownership("revoked"),
  "auth.grant.expired": ownership("expired"),
};
