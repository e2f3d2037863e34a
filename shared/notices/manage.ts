import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { accessKey } from "../accounts/standing.ts";
import { change } from "../changes/kind.ts";
import type { Writer } from "../changes/recorder.ts";
import { InvalidInput } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import { aheadOfOwners, readOwners } from "../grants/holders.ts";
import type { Context, Expected } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { membersAmong, mostRecipients, type KnownMember } from "./recipients.ts";
import {
  GivenNoticeSettings,
  NoticeSettings,
  noticeSettingsKey,
  noticeSettingsKind,
  readNoticeSettings,
} from "./settings.ts";

const NoticeRecipient = z
  .object({
    user_id: Id.meta({ description: "The user's id." }),
    email: z.string().nullable().meta({
      description: "The user's e-mail address. Null while the address is not known. The user then gets no mails.",
    }),
    owner: z.boolean().meta({
      description:
        "Whether the user owns the account directly. A user whose ownership has no end date gets the mails of all categories that are not muted.",
    }),
  })
  .meta({ id: "NoticeRecipient", description: "A user who gets mails about an account." });

export const Notices = NoticeSettings.extend({
  recipients: z.array(NoticeRecipient).meta({
    description: `The users who get mails: the first ${mostRecipients} users whose ownership has no end date, and the \`readers\` who have access to the account.`,
  }),
}).meta({ id: "Notices", description: "Who gets which mails about an account." });
export type Notices = z.output<typeof Notices>;

/** The schemas of the entity tag, which covers the members that callers set. */
export const noticesTag = { view: Notices, own: NoticeSettings };

/** The items that are read for the notices of an account, and for the access of new readers. */
export const aheadOfNotices = (
  accountId: string,
  { seen }: Expected,
  readers: NoticeSettings["readers"] = [],
): Ahead => ({
  keys: [
    noticeSettingsKey(accountId),
    ...aheadOfOwners(accountId, seen, mostRecipients),
    ...readers.map(({ user_id: id }) => accessKey(accountId, { type: "user", id })),
  ],
});

/** The settings and the recipients of the mails about an account. */
export async function getNotices(accountId: string, { table, now }: Pick<Context, "table" | "now">): Promise<Notices> {
  const [{ muted, readers }, owners] = await Promise.all([
    readNoticeSettings(table, accountId),
    readOwners(table, accountId),
  ]);
  const settings = { muted, readers };
  return noticesOf(settings, await membersAmong(table, accountId, concernedIds(settings, owners), now()));
}

/** The users who may get mails: the first owners, and the readers. */
const concernedIds = ({ readers }: NoticeSettings, owners: readonly string[]): string[] => [
  ...new Set([...owners.slice(0, mostRecipients), ...readers.map(({ user_id }) => user_id)]),
];

function noticesOf({ muted, readers }: NoticeSettings, members: ReadonlyMap<string, KnownMember>): Notices {
  const recipients = [...members].flatMap(([user_id, { email = null, owner }]) =>
    owner || readers.some((reader) => reader.user_id === user_id) ? [{ user_id, email, owner }] : [],
  );
  return { muted, readers, recipients };
}

export const NoticesUpdate = GivenNoticeSettings.partial()
  .strict()
  .superRefine(({ readers = [] }, context) => {
    readers.forEach(({ user_id }, index) => {
      if (readers.findIndex((other) => other.user_id === user_id) === index) return;
      context.addIssue({ code: "custom", path: ["readers", index, "user_id"], message: "This user is listed twice" });
    });
  })
  .meta({
    id: "NoticesUpdate",
    description: "Changes to who gets which mails. A list replaces the former list.",
    examples: [{ muted: ["domain_health"] }],
  });

/** Changes the settings of the mails about an account. Throws a 422 for a reader without access to the account. */
export async function updateNotices(
  accountId: string,
  given: z.output<typeof NoticesUpdate>,
  { table, commit, now }: Writer,
): Promise<Notices> {
  return commit(async () => {
    const [{ version, ...before }, owners] = await Promise.all([
      readNoticeSettings(table, accountId),
      readOwners(table, accountId),
    ]);
    const after: NoticeSettings = { muted: given.muted ?? before.muted, readers: given.readers ?? before.readers };
    const members = await membersAmong(table, accountId, concernedIds(after, owners), now());
    requireAccess(given.readers ?? [], members);
    const value = noticesOf(after, members);
    if (isDeepStrictEqual(before, after)) return { value, writes: [], changes: [], current: before };
    const put = { ...noticeSettingsKey(accountId), ...after, version: version + 1 };
    return {
      value,
      writes: [{ put, if: version === 0 ? "absent" : { version } }],
      changes: [change(noticeSettingsKind, "updated", accountId, { before, after })],
      current: before,
    };
  });
}

function requireAccess(readers: NoticeSettings["readers"], members: ReadonlyMap<string, KnownMember>): void {
  const errors = readers.flatMap(({ user_id }, index) =>
    members.has(user_id)
      ? []
      : [{ loc: ["body", "readers", index, "user_id"], msg: "No user with this id has access", type: "not_found" }],
  );
  if (errors.length > 0) throw new InvalidInput(errors);
}
