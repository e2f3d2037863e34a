import { accessKey, AccessRecord, isOwner } from "../accounts/standing.ts";
import { hasAccess, readOwners } from "../grants/holders.ts";
import { MailAddress } from "../mail/forwarding/target.ts";
import type { Reader } from "../table/table.ts";
import type { Notice, PersonRef } from "./notice.ts";
import { readNoticeSettings } from "./settings.ts";

/** The most recipients of one notice. */
export const mostRecipients = 50;

/**
 * A user who has access to an account, and whether the user owns the account. `email` is the normal form of the user's
 * address. It is undefined if the address is not known, or is a text that is no address.
 */
export type KnownMember = { email: string | undefined; owner: boolean };

/** The users among `userIds` who have access to the account at a time, by their ids. */
export async function membersAmong(
  table: Reader,
  accountId: string,
  userIds: readonly string[],
  now: Date,
): Promise<Map<string, KnownMember>> {
  const ids = [...new Set(userIds)];
  const at = now.toISOString();
  const items = await table.getMany(ids.map((id) => accessKey(accountId, { type: "user", id })));
  return new Map(
    ids.flatMap((id, index) => {
      const record = items[index] && AccessRecord.parse(items[index]);
      if (!record || !hasAccess(record, at)) return [];
      return [[id, { email: MailAddress.safeParse(record.email).data, owner: isOwner(record, at) }] as const];
    }),
  );
}

/**
 * The e-mail address of a user, if it is known. Otherwise a name for the operator or the product, or a text with the
 * id.
 */
export function nameOf({ type, id }: PersonRef, members: ReadonlyMap<string, KnownMember>): string {
  const email = type === "user" ? members.get(id)?.email : undefined;
  if (email !== undefined) return email;
  if (type === "operator") return "The operator";
  return type === "system" ? "Hosted Mail" : `The ${type.replaceAll("_", " ")} ${id}`;
}

/**
 * The addresses that get a notice, each address once. The addresses are of these users, in this order: the user whom
 * the notice is about, the users who were chosen for the category, and the owners of the account (`readOwners`). Users
 * without access to the account are left out. Only the first `mostRecipients` addresses get the notice. Nobody gets the
 * notice if the category is muted.
 */
export async function recipientsOf(
  table: Reader,
  accountId: string,
  { category, alsoTo }: Pick<Notice, "category" | "alsoTo">,
  now: Date,
): Promise<string[]> {
  const [owners, { muted, readers }] = await Promise.all([
    readOwners(table, accountId),
    readNoticeSettings(table, accountId),
  ]);
  if (muted.some((one) => one === category)) return [];
  const chosen = readers.flatMap(({ user_id, categories }) => (categories.includes(category) ? [user_id] : []));
  const others = [...(alsoTo === undefined ? [] : [alsoTo]), ...chosen];
  const members = await membersAmong(table, accountId, [...others, ...owners], now);
  const recipients = [...members].filter(([id, { owner }]) => owner || others.includes(id));
  return [...new Set(recipients.flatMap(([, { email }]) => email ?? []))].slice(0, mostRecipients);
}
