import { change, type Change } from "../../changes/kind.ts";
import type { Commit } from "../../changes/recorder.ts";
import { notFound } from "../../core/errors.ts";
import { hasChanged, requireMatch } from "../../core/etag.ts";
import { ordinalOf } from "../../core/ids.ts";
import type { StoredDomain } from "../../domains/domain.ts";
import { domainById } from "../../domains/find.ts";
import { planPurge, assignmentsRange } from "../../grants/assignments.ts";
import type { Context, Expected } from "../../http/route.ts";
import { readList, removeRows, aheadOfList } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { mailboxById, type FoundMailbox, expectedMailbox } from "./find.ts";
import { addressKey, mailboxesIn, mailboxesOf, mailboxKey, mailboxKind, type StoredMailbox } from "./mailbox.ts";
import { domainList, domainListWrites } from "./plan.ts";
import { mailboxCore } from "./view.ts";

type Mover = { table: Reader; commit: Commit; now: () => Date };

/**
 * The items that `mailboxInPath` and `deleteMailbox` read. They include the mailbox's place in its domain's list only
 * if this process has seen the mailbox.
 */
export function aheadOfDeletion(accountId: string, ref: string, expected: Expected): Ahead {
  const { id, mailbox, ...ahead } = expectedMailbox(expected, accountId, ref);
  if (id === undefined) return ahead;
  const all = aheadOfList(mailboxesOf(accountId), [ordinalOf(id) ?? 0]);
  const inDomain = mailbox ? aheadOfList(mailboxesIn(accountId, mailbox.domain_id), [mailbox.place]) : {};
  return {
    ...ahead,
    keys: [...ahead.keys, ...(all.keys ?? []), ...(inDomain.keys ?? [])],
    ranges: [assignmentsRange(accountId, { type: "mailbox", id })],
  };
}

/**
 * Deletes a mailbox with its aliases, its password and the grants on it. Its addresses are free at once. Throws 404,
 * and 412 if the mailbox has changed.
 */
export async function deleteMailbox(found: FoundMailbox, context: Context): Promise<void> {
  const { ifMatch } = context;
  const { domain, mailbox } = found;
  requireMatch(ifMatch, mailboxCore(mailbox, domain));
  const dropped = await dropMailbox(domain.account_id, mailbox, context, ifMatch !== undefined);
  if (dropped === "missing") throw notFound();
}

/**
 * Deletes a mailbox, and says whether it existed.
 * - Grants on it that do not fit into one transaction are revoked first. After an interruption the mailbox still exists
 *   and can be deleted again.
 * - With `isExact`, the mailbox must be unchanged since `found` was read.
 */
export async function dropMailbox(
  accountId: string,
  found: StoredMailbox,
  mover: Mover,
  isExact = false,
): Promise<"gone" | "missing"> {
  for (;;) {
    const dropped = await dropStep(accountId, found, mover, isExact);
    if (dropped !== "more") return dropped;
  }
}

/** Revokes some grants on a mailbox; deletes the mailbox together with the last of them. */
function dropStep(
  accountId: string,
  found: StoredMailbox,
  { table, commit, now }: Mover,
  isExact: boolean,
): Promise<"gone" | "more" | "missing"> {
  return commit(async () => {
    const mailbox = await mailboxById(table, accountId, found.id);
    const domain = mailbox && (await domainById(table, accountId, mailbox.domain_id));
    if (!mailbox || !domain) return { value: "missing" as const, writes: [], changes: [], partial: true };
    if (isExact && mailbox.version !== found.version) throw hasChanged();
    const { isAll, writes, changes } = await planPurge(table, accountId, { type: "mailbox", id: mailbox.id }, now());
    const options = { matched: true, partial: !isAll };
    if (!isAll) return { value: "more" as const, writes, changes, ...options };
    const removal = await planRemoval(table, domain, [mailbox]);
    return {
      value: "gone" as const,
      writes: [...removal.writes, ...writes],
      changes: [...removal.changes, ...changes],
      ...options,
    };
  });
}

/**
 * Plans the deletion of some mailboxes of a domain with their addresses, without the grants on them. The transaction
 * fails if one of them changed since it was read.
 */
export async function planRemoval(
  table: Reader,
  domain: StoredDomain,
  mailboxes: readonly StoredMailbox[],
): Promise<{ writes: Write[]; changes: Change[] }> {
  const { account_id } = domain;
  const ordinals = mailboxes.map(({ id }) => ordinalOf(id) ?? -1);
  const places = mailboxes.map(({ place }) => place);
  const [all, inDomain] = await Promise.all([
    readList(table, mailboxesOf(account_id), ordinals),
    domainList(table, domain, places),
  ]);
  const asRead = new Map(mailboxes.map(({ id, version }) => [mailboxKey(account_id, id).SK, { if: { id, version } }]));
  return {
    writes: [
      ...removeRows(all.state, ordinals).map((write) =>
        "delete" in write ? { ...write, ...asRead.get(write.delete.SK) } : write,
      ),
      ...domainListWrites(domain, inDomain, { removed: places }),
      ...mailboxes.flatMap(({ id, local_part, aliases }) =>
        [local_part, ...aliases].map((local): Write => ({
          delete: addressKey(account_id, domain.id, local),
          if: { mailbox_id: id },
        })),
      ),
    ],
    changes: mailboxes.map((mailbox) =>
      change(mailboxKind, "deleted", mailbox.id, { before: mailboxCore(mailbox, domain) }),
    ),
  };
}
