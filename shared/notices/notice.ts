import * as z from "zod";

import type { StoredAccount } from "../accounts/account.ts";
import { EventDetail } from "../changes/record.ts";
import { type Block, type Sentence, sentence } from "../letters/letter.ts";

/**
 * The category of a mail about an account. `account` and `security` cannot be muted. Mails of `account` are about the
 * status, the plan and the debts of the account. Mails of `security` are about access to the account, and about control
 * of its domain names.
 */
export const NoticeCategory = z.enum(["account", "security", "wallet", "invoices", "domains", "domain_health"]);
export type NoticeCategory = z.output<typeof NoticeCategory>;

/** The members of an event that notices are made from. */
export const NoticeEvent = EventDetail.extend({ actor: z.object({ type: z.string(), id: z.string() }) });
export type NoticeEvent = z.output<typeof NoticeEvent>;

/** A subject that an event names by its type and id. */
export type PersonRef = { type: string; id: string };

/** A mail about an event, without its footer. */
export type Notice = {
  category: NoticeCategory;
  subject: Sentence;
  blocks: readonly Block[];
  /** The matter of the mail. A recipient gets at most one mail about the same matter in 30 days. */
  matter?: string;
  /** A user who also gets the mail, even without owning the account. The user must have access to the account. */
  alsoTo?: string;
};

/**
 * Makes the notice of an event; undefined if nobody needs a notice of the event. `nameOf` returns the e-mail address of
 * a user of the account, if the address is known. Otherwise it returns a name for the operator or the product, or a
 * text with the id. `account` is the account at the time when the mail is sent.
 */
export type NoticeMaker = (
  event: NoticeEvent,
  nameOf: (person: PersonRef) => string,
  account?: Pick<StoredAccount, "status" | "debt" | "updated_at">,
) => Notice | undefined;

const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** The day of a time, in UTC: `7 March 2027`. A day (`2027-03-07`) is a time too. */
export function dateText(time: string): string {
  const at = new Date(time);
  return `${at.getUTCDate()} ${months[at.getUTCMonth()] ?? ""} ${at.getUTCFullYear()}`;
}

/** A time, to the minute: `7 March 2027, 14:05 UTC`. */
export const timeText = (time: string): string =>
  `${dateText(time)}, ${new Date(time).toISOString().slice(11, 16)} UTC`;

export const amountText = (amount: string, currency: string): string => `${amount} ${currency}`;

/** The blocks that say how to top up the wallet. `amount` is the amount in the shown call. */
export const topUp = (event: NoticeEvent, amount = "50.00"): Block[] => [
  paragraph`Top up the wallet with this call. It answers the address of a page to pay on:`,
  callOf(event, "POST", "/billing/topup-session", { amount }),
];

export const paragraph = (words: TemplateStringsArray, ...inserted: (string | number | Sentence)[]): Block => ({
  paragraph: sentence(words, ...inserted),
});

/** The block that shows a call of the API. `path` is the part of the path after the account's id. */
export function callOf(event: Pick<NoticeEvent, "account_id">, method: string, path: string, body?: object): Block {
  const url = `/v1/public/accounts/${event.account_id}${path}`;
  return { command: [method, url, ...(body ? [JSON.stringify(body)] : [])].join(" ") };
}
