import { planPurge } from "../auth/purge.ts";
import { change, type Change } from "../changes/kind.ts";
import type { Commit } from "../changes/recorder.ts";
import type { StoredDomain } from "../domains/domain.ts";
import { domainById } from "../domains/find.ts";
import { notFound } from "../errors.ts";
import { requireMatch } from "../etag.ts";
import { ordinalOf } from "../ids.ts";
import type { Context } from "../route.ts";
import { readList, removeRows } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { mailboxById, type FoundMailbox } from "./find.ts";
import { addressKey, mailboxesIn, mailboxesOf, mailboxKind, type StoredMailbox } from "./mailbox.ts";
import { mailboxCountWrite } from "./plan.ts";
import { mailboxCore, mailboxViews } from "./view.ts";

type Mover = { table: Reader; commit: Commit; now: () => Date };

/** Deletes a mailbox with its aliases, its password and the grants on it; its addresses are free at once. 404, 412. */
export async function deleteMailbox(found: FoundMailbox, context: Context): Promise<void> {
  const { table, ifMatch } = context;
  const { account_id } = found.domain;
  if (ifMatch !== undefined) {
    const [seen] = await mailboxViews(table, account_id, [found.mailbox]);
    requireMatch(ifMatch, seen);
  }
  const dropped = await dropMailbox(account_id, found.mailbox, context, ifMatch !== undefined);
  if (dropped === "missing") throw notFound();
  if (dropped === "more") await revokeRest(account_id, found.mailbox.id, context);
}

/** Takes a mailbox away, with the first few grants on it; says whether there are more of these, or it was not there. */
export function dropMailbox(
  accountId: string,
  seen: StoredMailbox,
  { table, commit, now }: Mover,
  isExact = false,
): Promise<"gone" | "more" | "missing"> {
  return commit(async () => {
    const mailbox = await mailboxById(table, accountId, seen.id);
    const domain = mailbox && (await domainById(table, accountId, mailbox.domain_id));
    if (!mailbox || !domain) return { value: "missing" as const, writes: [], changes: [] };
    if (isExact && mailbox.version !== seen.version) requireMatch([], mailbox);
    const planned = await planRemoval(table, domain, mailbox);
    const grants = await planPurge(table, accountId, { type: "mailbox", id: mailbox.id }, now());
    return {
      value: grants.isAll ? ("gone" as const) : ("more" as const),
      writes: [...planned.writes, ...grants.writes],
      changes: [...planned.changes, ...grants.changes],
      matched: true,
      partial: true,
    };
  });
}

async function planRemoval(
  table: Reader,
  domain: StoredDomain,
  mailbox: StoredMailbox,
): Promise<{ writes: Write[]; changes: Change[] }> {
  const { account_id } = domain;
  const ordinal = ordinalOf(mailbox.id) ?? -1;
  const [all, inDomain] = await Promise.all([
    readList(table, mailboxesOf(account_id), [ordinal]),
    readList(table, mailboxesIn(account_id, domain.id), [mailbox.place]),
  ]);
  const locals = [mailbox.local_part, ...mailbox.aliases];
  return {
    writes: [
      ...removeRows(all.state, [ordinal], { if: { id: mailbox.id, version: mailbox.version } }),
      ...removeRows(inDomain.state, [mailbox.place]),
      mailboxCountWrite(domain, -1),
      ...locals.map((local): Write => ({
        delete: addressKey(account_id, domain.id, local),
        if: { mailbox_id: mailbox.id },
      })),
    ],
    changes: [change(mailboxKind, "deleted", mailbox.id, { before: mailboxCore(mailbox, domain) })],
  };
}

/** The grants on a mailbox that were too many for the transaction that took it away. */
async function revokeRest(accountId: string, id: string, { table, commit, now }: Mover): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const { isAll, writes, changes } = await planPurge(table, accountId, { type: "mailbox", id }, now());
      return { value: !isAll, writes, changes, partial: true };
    });
  }
}
