import { covers } from "../auth/permissions.ts";
import { change } from "../changes/kind.ts";
import type { Writer } from "../changes/recorder.ts";
import { notFound, Problem } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import { later } from "../core/time.ts";
import { domainQueue } from "../domains/domain.ts";
import type { Context } from "../http/route.ts";
import { dueKey, dueWrite, type TaskSubject } from "../table/due.ts";
import { readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { planNameRemoval } from "../table/reserved-name.ts";
import type { Key, Write } from "../table/writes.ts";
import {
  workspaceCheck,
  workspaceKey,
  workspaceNameKeys,
  StoredWorkspace,
  workspaceKind,
  workspacesOf,
} from "../workspaces/workspace.ts";
import { planScopePurge } from "./scope.ts";

/**
 * Deletes a workspace that has no domains. Also deletes the grants, master passwords and forwarding rules of the
 * workspace: some with the workspace, and the rest in further transactions. Once the workspace is deleted, the rest
 * gives no access, because an id is never used again. If a deletion is interrupted, the worker deletes the rest
 * (`deleteRest`). A repeated call deletes the rest too. A repeat with the same idempotency key succeeds even if the
 * worker has deleted the rest before. Throws:
 * - 404 if there is no such workspace, and nothing of it is left;
 * - 409 `workspace_not_empty` if the workspace has domains.
 */
export async function deleteWorkspace(accountId: string, id: string, context: Context): Promise<void> {
  const dropped = await dropWorkspace(accountId, id, context);
  if (dropped === "gone") return;
  const taskRemoval = dropped === "missing" ? [] : [{ delete: restKey(accountId, id, dropped.restDueAt) }];
  let isFound = dropped !== "missing" || context.hasBegun === true;
  for (let isMore = true; isMore;) {
    isMore = await context.commit(async () => {
      const { isAll, writes, changes } = await planAccessRemoval(accountId, id, context);
      isFound ||= writes.length > 0;
      return {
        value: !isAll,
        writes: [...writes, ...(isAll ? taskRemoval : [])],
        changes,
        housekeeping: true,
        // If nothing was found, the answer is a 404, so this transaction must not store the answer of a deletion.
        partial: !isAll || !isFound,
      };
    });
  }
  if (!isFound) throw notFound();
}

const restPrefix = "workspace/";

/** The subject of the task that deletes the rest of a workspace. It is in the queue of domains. */
const restSubject = (accountId: string, id: string): TaskSubject => [accountId, `${restPrefix}${id}`];

const restKey = (accountId: string, id: string, at: string): Key => dueKey(domainQueue, restSubject(accountId, id), at);

/** The id of the workspace that a task of the queue of domains is about. Undefined if the task is about a domain. */
export const workspaceOfTask = (subjectId: string): string | undefined =>
  subjectId.startsWith(restPrefix) ? subjectId.slice(restPrefix.length) : undefined;

/**
 * Deletes the rest of a workspace whose deletion was interrupted, and then the task that was due at `at`. After
 * `budgetMs` milliseconds, the function stops between two transactions, and the task stays due. If the workspace exists
 * again, because the account was restored, the function deletes only the task.
 */
export async function deleteRest(
  accountId: string,
  { id, at }: { id: string; at: string },
  { table, commit, now }: Writer,
  budgetMs: number,
): Promise<void> {
  const endsAtMs = performance.now() + budgetMs;
  for (let isMore = true; isMore && performance.now() < endsAtMs;) {
    isMore = await commit(async () => {
      const nothing = { isAll: true, writes: [], changes: [] };
      const isThere = (await workspaceCheck(table, accountId, id)) !== undefined;
      const { isAll, writes, changes } = isThere ? nothing : await planAccessRemoval(accountId, id, { table, now });
      const gone: Write[] = isThere ? [] : [{ check: workspaceKey(accountId, id), if: "absent" }];
      const taskRemoval = isAll ? [{ delete: restKey(accountId, id, at) }] : [];
      return { value: !isAll, writes: [...writes, ...gone, ...taskRemoval], changes, housekeeping: true };
    });
  }
}

/**
 * The items that `deleteWorkspace` reads, except the grants, master passwords and forwarding rules of the workspace.
 */
export const aheadOfWorkspace = (accountId: string, id: string): Ahead =>
  aheadOfList(workspacesOf(accountId), [ordinalOf(id) ?? 0], [workspaceKey(accountId, id)]);

/**
 * What the first transaction of the deletion did:
 * - `gone`: it deleted the workspace and everything of it;
 * - `restDueAt`: it deleted the workspace, and some grants, master passwords or forwarding rules are left. At this time
 *   the worker deletes the rest;
 * - `missing`: there is no such workspace.
 */
type Dropped = "gone" | "missing" | { restDueAt: string };

/** The time after which the worker deletes the rest, in milliseconds. No request runs this long. */
const restAfterMs = 120_000;

/**
 * Makes the first transaction of the deletion. If something of the workspace is left, this transaction also makes the
 * task that deletes the rest.
 */
async function dropWorkspace(accountId: string, id: string, context: Context): Promise<Dropped> {
  const { table, commit, now } = context;
  const ordinal = ordinalOf(id);
  if (ordinal === undefined) return "missing";
  return commit<Dropped>(async () => {
    const { state, others } = await readList(table, workspacesOf(accountId), [ordinal], [workspaceKey(accountId, id)]);
    const workspace = StoredWorkspace.safeParse(others[0]).data;
    if (workspace?.id !== id) return { value: "missing", writes: [], changes: [], partial: true };
    if (workspace.domain_count > 0) {
      const { domain_count } = workspace;
      const maySeeDomains = covers(context.permissions, "domain.view", [{ type: "workspace", id }]);
      const detail =
        "The workspace still has domains. Move or delete them first. To delete a releasing domain at once, call domains.delete with purge=true.";
      throw new Problem("workspace_not_empty", detail, maySeeDomains ? { domain_count } : {});
    }
    const writes = removeRows(state, [ordinal], { if: { id, version: workspace.version } });
    const [nameRemoval, { isAll, ...access }] = await Promise.all([
      planNameRemoval(table, workspaceNameKeys(accountId, workspace.name), id),
      planAccessRemoval(accountId, id, context),
    ]);
    const restDueAt = later(now(), restAfterMs);
    const rest = isAll ? [] : [dueWrite(domainQueue, restSubject(accountId, id), restDueAt)];
    return {
      value: isAll ? "gone" : { restDueAt },
      partial: !isAll,
      begins: !isAll,
      writes: [...writes, ...nameRemoval, ...access.writes, ...rest],
      changes: [change(workspaceKind, "deleted", id, { before: workspace }), ...access.changes],
    };
  });
}

/** Plans the next deletions of the grants, master passwords and forwarding rules of a workspace. */
const planAccessRemoval = (accountId: string, id: string, { table, now }: Pick<Context, "table" | "now">) =>
  planScopePurge(table, accountId, { type: "workspace", id }, now());
