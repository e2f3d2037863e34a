import { covers } from "../auth/permissions.ts";
import { change } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { ordinalOf } from "../core/ids.ts";
import type { Context } from "../http/route.ts";
import { readList, removeRows, aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { planNameRemoval } from "../table/reserved-name.ts";
import {
  workspaceKey,
  workspaceNameKeys,
  StoredWorkspace,
  workspaceKind,
  workspacesOf,
} from "../workspaces/workspace.ts";
import { planScopePurge } from "./scope.ts";

/**
 * Deletes a workspace that has no domains. Also deletes the grants, master passwords and forwarding rules of the
 * workspace: some with the workspace, and the others in further transactions. Without the workspace they give no
 * access, because an id is never used again. If a deletion was interrupted, a repeated call deletes the rest. Throws:
 * - 404 if there is no such workspace, and nothing of it is left;
 * - 409 `workspace_not_empty` if the workspace has domains.
 */
export async function deleteWorkspace(accountId: string, id: string, context: Context): Promise<void> {
  const dropped = await dropWorkspace(accountId, id, context);
  if (dropped === "gone") return;
  let isFound = dropped === "more";
  for (let isMore = true; isMore;) {
    isMore = await context.commit(async () => {
      const { isAll, ...purge } = await planAccess(accountId, id, context);
      isFound ||= purge.writes.length > 0;
      return { value: !isAll, ...purge, partial: !isAll || !isFound };
    });
  }
  if (!isFound) throw notFound();
}

/**
 * The items that `deleteWorkspace` reads, except the grants, master passwords and forwarding rules of the workspace.
 */
export const aheadOfWorkspace = (accountId: string, id: string): Ahead =>
  aheadOfList(workspacesOf(accountId), [ordinalOf(id) ?? 0], [workspaceKey(accountId, id)]);

/**
 * What the first transaction of the deletion did:
 * - `gone`: it deleted the workspace and everything of it;
 * - `more`: it deleted the workspace, and some grants, master passwords or forwarding rules are left;
 * - `missing`: there is no such workspace.
 */
type Dropped = "gone" | "more" | "missing";

async function dropWorkspace(accountId: string, id: string, context: Context): Promise<Dropped> {
  const { table, commit } = context;
  const ordinal = ordinalOf(id);
  if (ordinal === undefined) return "missing";
  return commit(async () => {
    const { state, others } = await readList(table, workspacesOf(accountId), [ordinal], [workspaceKey(accountId, id)]);
    const workspace = StoredWorkspace.safeParse(others[0]).data;
    if (workspace?.id !== id) return { value: "missing" as const, writes: [], changes: [], partial: true };
    if (workspace.domain_count > 0) {
      const { domain_count } = workspace;
      const isSeen = covers(context.permissions, "domain.view", [{ type: "workspace", id }]);
      const detail =
        "The workspace still has domains. Move or delete them first. To delete a releasing domain at once, call domains.delete with purge=true.";
      throw new Problem("workspace_not_empty", detail, isSeen ? { domain_count } : {});
    }
    const writes = removeRows(state, [ordinal], { if: { id, version: workspace.version } });
    const [name, { isAll, ...grants }] = await Promise.all([
      planNameRemoval(table, workspaceNameKeys(accountId, workspace.name), id),
      planAccess(accountId, id, context),
    ]);
    return {
      value: isAll ? ("gone" as const) : ("more" as const),
      partial: !isAll,
      writes: [...writes, ...name, ...grants.writes],
      changes: [change(workspaceKind, "deleted", id, { before: workspace }), ...grants.changes],
    };
  });
}

const planAccess = (accountId: string, id: string, { table, now }: Context) =>
  planScopePurge(table, accountId, { type: "workspace", id }, now());
