import { change } from "../../changes/kind.ts";
import { systemAuthor } from "../../changes/record.ts";
import { type Writer, writerOf } from "../../changes/recorder.ts";
import { domainById } from "../../domains/find.ts";
import { planPurge } from "../../grants/assignments.ts";
import type { WorkerContext } from "../../http/worker.ts";
import { dueKey, dueTasks, type SweepResult, sweepTasks } from "../../table/due.ts";
import { pastMailboxWrites } from "../../wallet/past-use.ts";
import { appPasswordsKey } from "../app-passwords/app-password.ts";
import { planRulePurge } from "../forwarding/remove.ts";
import { deletedById, deletedRemovals, mailboxQueue } from "./deleted.ts";
import { mailboxKind } from "./mailbox.ts";
import { mailboxCore } from "./view.ts";

/**
 * Purges a deleted mailbox: revokes the grants on the mailbox and deletes its forwarding rules, a few in each
 * transaction. Then deletes the rows and the app passwords of the mailbox. Does nothing if there is no such mailbox.
 */
export async function purgeMailbox(accountId: string, id: string, { table, commit, now }: Writer): Promise<void> {
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const deleted = await deletedById(table, accountId, id);
      if (!deleted) return { value: false, writes: [], changes: [] };
      const { isAll, ...grants } = await planPurge(table, accountId, { type: "mailbox", id }, now());
      if (!isAll) return { value: true, ...grants, partial: true };
      const place = { table, accountId, now: now() };
      const forwarding = await planRulePurge(place, { type: "mailbox", id });
      // The rules are deleted in separate transactions. A grant on the mailbox and a grant on a rule can have the same
      // holder, and one transaction cannot write the row of this holder twice.
      if (forwarding.writes.length > 0) {
        return { value: true, writes: forwarding.writes, changes: forwarding.changes, partial: true };
      }
      const { mailbox } = deleted;
      const domain = await domainById(table, accountId, mailbox.domain_id);
      const before = mailboxCore(mailbox, domain ?? { id: mailbox.domain_id, name: "" });
      return {
        value: false,
        writes: [
          ...grants.writes,
          ...(await deletedRemovals(table, accountId, deleted)),
          ...(await pastMailboxWrites(table, accountId, mailbox)),
          { delete: appPasswordsKey(accountId, id) },
        ],
        changes: [...grants.changes, change(mailboxKind, "purged", id, { before })],
        partial: true,
      };
    });
  }
}

/**
 * Purges a mailbox that is due. If the mailbox is not deleted any more, or was deleted again later, nothing is purged,
 * and only the task is removed.
 */
async function purgeDue(accountId: string, id: string, at: string, { table, now }: WorkerContext): Promise<void> {
  const deleted = await deletedById(table, accountId, id);
  if (deleted?.mailbox.restorable_until !== at) {
    await table.attempt({ delete: dueKey(mailboxQueue, [accountId, id], at) });
    return;
  }
  await purgeMailbox(accountId, id, writerOf({ table, now }, accountId, systemAuthor("mailbox purge", "mailboxes")));
}

/** Purges mailboxes that are due, within the limits of one run of `sweepTasks`. A mailbox that fails stays due. */
export const sweepMailboxes = async (work: WorkerContext): Promise<SweepResult> =>
  sweepTasks(await dueTasks(mailboxQueue, purgeDue, work), work.log);
