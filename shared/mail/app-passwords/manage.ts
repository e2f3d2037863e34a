import { change } from "../../changes/kind.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { timeOrderedId } from "../../core/ids.ts";
import { type PageQuery, spanOf } from "../../core/page.ts";
import type { Context, Expected } from "../../http/route.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import { currentMailbox } from "../mailboxes/change.ts";
import { expectedMailbox, type FoundMailbox } from "../mailboxes/find.ts";
import { mailboxKey } from "../mailboxes/mailbox.ts";
import { keyedHash, loginKey, type LoginServices, newPassword, passwordTag } from "../mailboxes/password.ts";
import {
  type AppPassword,
  appPasswordKind,
  appPasswordLimit,
  appPasswordsKey,
  lastUseAttribute,
  lastUseOf,
  type AppProtocol,
  type StoredAppPassword,
  StoredAppPasswords,
} from "./app-password.ts";

const readStored = async (table: Reader, accountId: string, mailboxId: string): Promise<StoredAppPasswords> =>
  (await table.get(appPasswordsKey(accountId, mailboxId), StoredAppPasswords)) ?? { items: [], version: 0 };

const viewOf = (
  mailbox_id: string,
  { id, name, protocols, expires_at, created_at }: StoredAppPassword,
  stored: StoredAppPasswords,
): AppPassword => ({ id, mailbox_id, name, protocols, expires_at, last_used_at: lastUseOf(stored, id), created_at });

/** The items that `mailboxInPath` and the functions of this file read. */
export function aheadOfAppPasswords(expected: Expected, accountId: string, ref: string): Ahead {
  const { keys, id, again } = expectedMailbox(expected, accountId, ref);
  const own = id === undefined ? [] : [appPasswordsKey(accountId, id)];
  return { keys: [...keys, ...own], ...(again ? { again } : {}) };
}

/** A page of the app passwords of a mailbox, oldest first. */
export async function listAppPasswords(
  { mailbox, domain }: FoundMailbox,
  page: PageQuery,
  { table }: Pick<Context, "table">,
): Promise<{ items: AppPassword[]; total: number }> {
  const stored = await readStored(table, domain.account_id, mailbox.id);
  const { skip, take } = spanOf(page);
  const items = stored.items.slice(skip, skip + take).map((one) => viewOf(mailbox.id, one, stored));
  return { items, total: stored.items.length };
}

type NewAppPassword = { name: string; protocols: AppProtocol[]; expires_at?: string | null | undefined };

/**
 * Creates an app password of a mailbox. Only this answer shows the password. Throws:
 * - 404 if the mailbox does not exist any more
 * - 409 `limit_reached` if the mailbox has 25 app passwords already
 * - 503 if the key service does not answer
 */
export async function addAppPassword(
  found: FoundMailbox,
  { name, protocols, expires_at = null }: NewAppPassword,
  context: Context,
  work: LoginServices,
): Promise<AppPassword & { generated_secret: string }> {
  const { table, commit, now } = context;
  const { account_id } = found.domain;
  const generated_secret = newPassword();
  const loginKeyOfAccount = await loginKey(account_id, work);
  const hash = keyedHash(loginKeyOfAccount, generated_secret);
  const tag = passwordTag(loginKeyOfAccount, generated_secret);
  return commit(async () => {
    const [{ mailbox }, stored] = await Promise.all([
      currentMailbox(found, context),
      readStored(table, account_id, found.mailbox.id),
    ]);
    if (stored.items.length >= appPasswordLimit) {
      throw new Problem(
        "limit_reached",
        `A mailbox has ${appPasswordLimit} app passwords at most. Delete an app password first.`,
      );
    }
    const at = now();
    const created_at = at.toISOString();
    const added: StoredAppPassword = { id: timeOrderedId(at), name, protocols, expires_at, created_at, hash, tag };
    const view = viewOf(mailbox.id, added, stored);
    const { version } = stored;
    return {
      value: { ...view, generated_secret },
      writes: [
        // If the mailbox is deleted meanwhile, this check fails. Without the check, the app password could be added
        // after the purge of the mailbox, and nothing would delete the app password.
        { check: mailboxKey(account_id, mailbox.id), if: { id: mailbox.id } },
        {
          update: appPasswordsKey(account_id, mailbox.id),
          set: { items: [...stored.items, added] },
          add: { version: 1 },
          if: version === 0 ? "absent" : { version },
        },
      ],
      changes: [change(appPasswordKind, "created", added.id, { after: view })],
    };
  });
}

/**
 * Deletes an app password of a mailbox. Logins with it fail from then on. Throws 404 if the mailbox does not have the
 * app password.
 */
export function deleteAppPassword({ mailbox, domain }: FoundMailbox, id: string, context: Context): Promise<void> {
  const { table, commit } = context;
  return commit(async () => {
    const stored = await readStored(table, domain.account_id, mailbox.id);
    const gone = stored.items.find((one) => one.id === id);
    if (!gone) throw notFound();
    const { version } = stored;
    return {
      value: undefined,
      writes: [
        {
          update: appPasswordsKey(domain.account_id, mailbox.id),
          set: { items: stored.items.filter((one) => one !== gone) },
          add: { version: 1 },
          remove: [lastUseAttribute(id)],
          if: { version },
        },
      ],
      changes: [change(appPasswordKind, "deleted", id, { before: viewOf(mailbox.id, gone, stored) })],
    };
  });
}
