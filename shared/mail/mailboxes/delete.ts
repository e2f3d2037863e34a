import { change, type Change } from "../../changes/kind.ts";
import type { Writer } from "../../changes/recorder.ts";
import { notFound } from "../../core/errors.ts";
import { ordinalOf } from "../../core/ids.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readList, removeRows, aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { deletedMailboxesOf, deletedWrites } from "./deleted.ts";
import { mailboxById, type FoundMailbox, expectedMailbox } from "./find.ts";
import { addressKey, mailboxesIn, mailboxesOf, mailboxKey, mailboxKind, type StoredMailbox } from "./mailbox.ts";
import { domainList, domainListWrites } from "./plan.ts";
import { mailboxCore } from "./view.ts";

/**
 * The items that `mailboxInPath` and `deleteMailbox` read. They include the mailbox's place in its domain's list only
 * if this process has seen the mailbox.
 */
export function aheadOfDeletion(accountId: string, ref: string, expected: Expected): Ahead {
  const { id, mailbox, ...ahead } = expectedMailbox(expected, accountId, ref);
  if (id === undefined) return ahead;
  const lists = [
    aheadOfList(mailboxesOf(accountId), [ordinalOf(id) ?? 0]),
    aheadOfList(deletedMailboxesOf(accountId)),
    mailbox ? aheadOfList(mailboxesIn(accountId, mailbox.domain_id), [mailbox.place]) : {},
  ];
  return { ...ahead, keys: [...ahead.keys, ...lists.flatMap(({ keys = [] }) => keys)] };
}

/**
 * Deletes a mailbox. Its addresses are free at once. For 7 days the mailbox can be restored. Throws 404 if there is no
 * such mailbox, and 412 if the mailbox does not match `If-Match`.
 */
export async function deleteMailbox({ mailbox, domain }: FoundMailbox, context: Context): Promise<void> {
  if (!(await dropMailbox(domain, mailbox.id, context))) throw notFound();
}

/** Deletes a mailbox of a domain. False if the mailbox or the domain does not exist. */
export function dropMailbox(
  { account_id, id: domainId }: Pick<StoredDomain, "account_id" | "id">,
  id: string,
  { table, commit, now }: Writer,
): Promise<boolean> {
  return commit(async () => {
    const [mailbox, domain] = await Promise.all([
      mailboxById(table, account_id, id),
      domainById(table, account_id, domainId),
    ]);
    // `partial`, so that no answer is stored for the idempotency key: nothing was deleted.
    if (!mailbox || !domain) return { value: false, writes: [], changes: [], partial: true };
    return { value: true, ...(await planDeletion(table, domain, [mailbox], now())) };
  });
}

/**
 * Plans the deletion of some mailboxes of a domain. The mailboxes can be restored, and the grants on them stay. The
 * transaction fails if one of the mailboxes has changed since it was read.
 */
export async function planDeletion(
  table: Reader,
  domain: StoredDomain,
  mailboxes: readonly StoredMailbox[],
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const { account_id } = domain;
  // The id of every stored mailbox has an ordinal.
  const ordinals = mailboxes.map(({ id }) => ordinalOf(id) ?? -1);
  const places = mailboxes.map(({ place }) => place);
  const [all, inDomain, deleted] = await Promise.all([
    readList(table, mailboxesOf(account_id), ordinals),
    domainList(table, domain, places),
    readList(table, deletedMailboxesOf(account_id)),
  ]);
  // The deleted mailbox is stored as it was read. A report of usage does not raise the version. So the condition
  // compares the usage too, because otherwise a report after the read would be lost.
  const unchanged = new Map(
    mailboxes.map(({ id, version, used, used_at }) => [
      mailboxKey(account_id, id).SK,
      { if: { id, version, used, ...(used_at === undefined ? {} : { used_at }) } },
    ]),
  );
  return {
    writes: [
      ...removeRows(all.state, ordinals).map((write) =>
        "delete" in write ? { ...write, ...unchanged.get(write.delete.SK) } : write,
      ),
      ...domainListWrites(domain, inDomain, { removed: places }),
      ...mailboxes.flatMap(({ id, local_part, aliases }) =>
        [local_part, ...aliases].map((local): Write => ({
          delete: addressKey(account_id, domain.id, local),
          if: { mailbox_id: id },
        })),
      ),
      ...deletedWrites(deleted.state, account_id, mailboxes, now),
    ],
    changes: mailboxes.map((mailbox) =>
      change(mailboxKind, "deleted", mailbox.id, { before: mailboxCore(mailbox, domain) }),
    ),
  };
}
