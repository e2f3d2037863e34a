import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Id } from "../core/ids.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { NoticeCategory } from "./notice.ts";

/*
 * Access patterns
 *   the settings of the mails about an account   ACCOUNT#<id> / NOTICE_SETTINGS
 */
export const noticeSettingsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "NOTICE_SETTINGS" });

/** Removes repetitions, and sorts. */
const unique = <T extends string>(given: readonly T[]): T[] => [...new Set(given)].toSorted();

const Categories = z.array(
  NoticeCategory.meta({
    description:
      "A category of mails. `account`: the status, the plan and the debts. `security`: access to the account, and control of its domain names. `wallet`: the balance and payments. `invoices`: invoices and credit notes. `domains`: registrations, renewals, transfers and deletions. `domain_health`: the DNS of domains.",
  }),
);

const readerMembers = {
  user_id: Id.meta({ description: "The id of a user who has access to the account." }),
  categories: Categories.min(1).max(20).overwrite(unique).meta({
    description: "The categories of mails that the user gets.",
  }),
};
const reader = "A user, besides the account's owners, who gets mails about the account.";

/** A user who gets mails about an account. The user need not own the account. */
const NoticeReader = z.object(readerMembers).meta({ id: "NoticeReader", description: reader });
const NoticeReaderUpdate = z.strictObject(readerMembers).meta({ id: "NoticeReaderUpdate", description: reader });

const mostReaders = 20;
const readers = `The users who get mails besides the owners, ${mostReaders} at most. A user without access to the account gets no mails.`;

export const NoticeSettings = z.object({
  muted: z
    .array(z.enum(["wallet", "invoices", "domains", "domain_health"]))
    .max(20)
    .overwrite(unique)
    .meta({
      description: "The categories of which nobody gets mails. `account` and `security` cannot be muted.",
    }),
  readers: z.array(NoticeReader).max(mostReaders).meta({ description: readers }),
});
export type NoticeSettings = z.output<typeof NoticeSettings>;

/** The settings in the body of a request, which refuses unknown members. */
export const GivenNoticeSettings = NoticeSettings.extend({
  readers: z.array(NoticeReaderUpdate).max(mostReaders).meta({ description: readers }),
});

export const noticeSettingsKind = defineKind({
  name: "notices",
  verbs: ["updated"],
  view: NoticeSettings,
  seenWith: "auth.manage",
});

const StoredSettings = NoticeSettings.extend({ version: z.int() });

/** Reads the settings of the mails about an account. By default the owners get all mails. */
export const readNoticeSettings = async (table: Reader, accountId: string): Promise<z.output<typeof StoredSettings>> =>
  (await table.get(noticeSettingsKey(accountId), StoredSettings)) ?? { muted: [], readers: [], version: 0 };
