import * as z from "zod";

import { AccountStatus } from "../accounts/account.ts";
import { Grant } from "../grants/assignment.ts";
import { type Block, sentence } from "../letters/letter.ts";
import { graceDays } from "../wallet/catalogue.ts";
import { callOf, type Notice, type NoticeEvent, type NoticeMaker, paragraph, timeText } from "./notice.ts";

const EventAccount = z.object({ status: AccountStatus });

const topUp = (event: NoticeEvent): Block[] => [
  paragraph`Top up the wallet with this call. It answers the address of a page to pay on:`,
  callOf(event, "POST", "/billing/topup-session", { amount: "50.00" }),
  paragraph`This call lists the invoices:`,
  callOf(event, "GET", "/billing/invoices"),
];

/** Whether billing made the change, and not the operator. */
const isByBilling = ({ actor }: NoticeEvent): boolean => actor.type === "system";

const ofStatus: Record<AccountStatus, (event: NoticeEvent) => Pick<Notice, "subject" | "blocks">> = {
  past_due: (event) => ({
    subject: sentence`Your account is past due`,
    blocks: isByBilling(event)
      ? [
          paragraph`The wallet could not pay what is due. Everything works as before for now. If it stays unpaid for ${graceDays} days, the account is suspended.`,
          ...topUp(event),
          paragraph`What is due is paid from the wallet as soon as it has the money, and the account is active again.`,
        ]
      : [paragraph`The operator has marked your account as past due.`, ...topUp(event)],
  }),
  suspended: (event) => ({
    subject: sentence`Your account is suspended`,
    blocks: [
      isByBilling(event)
        ? paragraph`What is due was not paid for ${graceDays} days.`
        : paragraph`The operator has suspended your account.`,
      paragraph`Nothing can be sent or changed. Mailboxes still receive mail, and everything can still be read.`,
      ...(isByBilling(event)
        ? [...topUp(event), paragraph`The account is active again as soon as everything is paid.`]
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
      paragraph`The account was closed on ${timeText(event.timestamp)}. It cannot be opened again. Its mailboxes receive no mail any more, and everything can still be read.`,
      paragraph`If this was not meant to happen, write to the support of Hosted Mail.`,
    ],
  }),
};

const statusChanged: NoticeMaker = (event) => {
  const [{ status }, before] = [EventAccount.parse(event.data), EventAccount.safeParse(event.previous_data).data];
  if (before === undefined || before.status === status) return undefined;
  return { category: "account", ...ofStatus[status](event) };
};

const EventGrant = Grant.pick({ id: true, grant_kind: true, subject_type: true, subject_id: true });

/** The notice that somebody owns the account from now on, or owns it no more. */
const ownership =
  (verb: "created" | "ended"): NoticeMaker =>
  (event, nameOf) => {
    const grant = EventGrant.parse(event.data);
    if (grant.grant_kind !== "account_owner") return undefined;
    const owner = nameOf({ type: grant.subject_type, id: grant.subject_id });
    const isNew = verb === "created";
    return {
      category: "security",
      subject: isNew ? sentence`Your account has a new owner` : sentence`An owner of your account was removed`,
      blocks: [
        isNew
          ? paragraph`${owner} became an owner of the account on ${timeText(event.timestamp)}. An owner may do everything, and may also remove other owners.`
          : paragraph`${owner} is no owner of the account any more since ${timeText(event.timestamp)}.`,
        event.type === "auth.grant.expired"
          ? paragraph`The ownership had an end from the start. If it should go on, look at who has access:`
          : paragraph`${nameOf(event.actor)} made this change. If it was not meant to happen, look at who has access, and at what was done:`,
        callOf(event, "GET", "/auth/authorizations"),
        callOf(event, "GET", "/audit-log"),
      ],
      ...(grant.subject_type === "user" ? { alsoTo: grant.subject_id } : {}),
    };
  };

/** The notices about an account and its owners, by the type of their event. */
export const accountNotices: Record<string, NoticeMaker> = {
  "account.updated": statusChanged,
  "auth.grant.created": ownership("created"),
  "auth.grant.revoked": ownership("ended"),
  "auth.grant.expired": ownership("ended"),
};
