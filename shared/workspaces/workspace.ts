import * as z from "zod";

import { type Scope, covers, idsHeld } from "../auth/permissions.ts";
import { change, defineKind } from "../changes/kind.ts";
import { invalidAt, notFound, Problem } from "../core/errors.ts";
import { Id, idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { type PageQuery, spanOf } from "../core/page.ts";
import { line } from "../core/text.ts";
import { Timestamp } from "../core/time.ts";
import type { Context, Expected, LocatedResource, ResourceLookup } from "../http/route.ts";
import { type List, aheadOfRows, appendRows, readList, readRows, rowKey } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { claimName, planNameChange, reservedNameKeys } from "../table/reserved-name.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";

/*
 * Access patterns
 *   workspaces of an account, and one by its id's ordinal   ACCOUNT#<id> / LIST#workspaces
 *   whether a name is taken                                 ACCOUNT#<id> / WORKSPACE_NAME#<SHA-256 of the folded name>
 */
/** The list of an account's workspaces. */
export const workspacesOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "workspaces" });

/** The keys of the items that reserve a name for one workspace. */
export const workspaceNameKeys = (accountId: string, name: string): [Key, ...Key[]] =>
  reservedNameKeys(accountId, "WORKSPACE", name);

export const WorkspaceName = line({
  most: 255,
  description: "The workspace's name, unique in the account ignoring case.",
});

export const WorkspaceParams = z.strictObject({
  account_id: Id.meta({ description: "The account's id." }),
  workspace_id: Id.meta({ description: "The workspace's id." }),
});

/**
 * The scopes of a request on the path of a workspace. A grant that is narrowed to this workspace covers the request.
 */
export const workspaceScope = ({ workspace_id }: z.output<typeof WorkspaceParams>): Scope[] => [
  { type: "workspace", id: workspace_id },
];

export const Workspace = z
  .object({
    id: Id.meta({ description: "The workspace's id." }),
    account_id: Id.meta({ description: "The account that the workspace belongs to." }),
    name: z.string().meta({ description: "The workspace's name, unique in its account ignoring case." }),
    status: z.enum(["active"]).meta({ description: "The workspace's status." }),
    created_at: Timestamp.meta({ description: "When the workspace was created." }),
    updated_at: Timestamp.meta({ description: "When the workspace last changed." }),
  })
  .meta({ id: "Workspace", description: "A container for domains inside an account." });

export const noSuchWorkspace = "There is no such workspace in this account, or you cannot see it";

export const workspaceKind = defineKind({
  name: "workspace",
  verbs: ["created", "updated", "deleted"],
  view: Workspace,
  seenWith: "workspace.view",
});

export const StoredWorkspace = Workspace.extend({
  /** The number of domains in the workspace. The transactions that add, move and delete domains update this number. */
  domain_count: z.int(),
  version: z.int(),
});
export type StoredWorkspace = z.output<typeof StoredWorkspace>;

/** The 409 for a taken name. The error has the id of the other workspace if the principal may see that workspace. */
const nameTaken =
  ({ permissions }: Context) =>
  ({ id = "" }: Record<string, string>): Problem => {
    const maySee = covers(permissions, "workspace.view", [{ type: "workspace", id }]);
    const extras = maySee ? { conflicts_with: id } : {};
    return new Problem("workspace_name_taken", "Another workspace of this account has this name.", extras);
  };

/** Creates a workspace. Throws 409 `workspace_name_taken` if another workspace has the name. */
export function addWorkspace(accountId: string, name: string, context: Context): Promise<StoredWorkspace> {
  const { table, commit, now } = context;
  return commit(async () => {
    const { state } = await readList(table, workspacesOf(accountId));
    const at = now().toISOString();
    const workspace: StoredWorkspace = {
      id: idWithOrdinal(state.next),
      account_id: accountId,
      name,
      status: "active",
      created_at: at,
      updated_at: at,
      domain_count: 0,
      version: 1,
    };
    const claim = claimName(workspaceNameKeys(accountId, name), workspace.id, nameTaken(context));
    return {
      value: workspace,
      writes: [...appendRows(state, [workspace]), ...claim],
      changes: [change(workspaceKind, "created", workspace.id, { after: workspace })],
    };
  });
}

/** Reads a workspace. Throws 404 if the account does not have the workspace. */
export async function getWorkspace(accountId: string, id: string, { table }: Context): Promise<StoredWorkspace> {
  const workspace = await table.get(workspaceKey(accountId, id), StoredWorkspace);
  if (workspace?.id !== id) throw notFound();
  return workspace;
}

/**
 * The write that makes a transaction fail if the workspace is deleted meanwhile; undefined if the account does not have
 * the workspace.
 */
export async function workspaceCheck(table: Reader, accountId: string, id: string): Promise<Write | undefined> {
  const workspace = await table.get(workspaceKey(accountId, id), StoredWorkspace);
  return workspace?.id === id ? { check: workspaceKey(accountId, id), if: { id } } : undefined;
}

/**
 * The write that adds `by` to the number of domains of a workspace. The transaction throws 422 if the workspace does
 * not exist.
 */
export const domainCountWrite = (accountId: string, workspaceId: string, by: number): Write => ({
  update: workspaceKey(accountId, workspaceId),
  add: { domain_count: by, version: 1 },
  if: { id: workspaceId },
  orElse: () => invalidAt(["body", "workspace_id"], noSuchWorkspace, "not_found"),
});

/** The items that `listWorkspaces` reads. */
export function aheadOfWorkspaces(accountId: string, page: PageQuery, { permissions }: Expected): Ahead {
  const visible = idsHeld(permissions, "workspace.view", "workspace");
  if (visible === "all") return aheadOfRows(workspacesOf(accountId), spanOf(page));
  return { keys: visible.map((id) => workspaceKey(accountId, id)) };
}

/** A page of the workspaces that the principal may see, oldest first. */
export async function listWorkspaces(
  accountId: string,
  page: PageQuery,
  { table, permissions }: Context,
): Promise<{ items: StoredWorkspace[]; total: number }> {
  const visible = idsHeld(permissions, "workspace.view", "workspace");
  const { skip, take } = spanOf(page);
  if (visible === "all") {
    const { rows, total } = await readRows(table, workspacesOf(accountId), { skip, take });
    return { items: rows.map((row) => StoredWorkspace.parse(row)), total };
  }
  const items = await readByIds(table, accountId, visible);
  return { items: items.slice(skip, skip + take), total: items.length };
}

/** The existing workspaces with these ids, oldest first. */
async function readByIds(table: Reader, accountId: string, ids: readonly string[]): Promise<StoredWorkspace[]> {
  const sortedIds = ids.toSorted();
  const rows = await table.getMany(sortedIds.map((id) => workspaceKey(accountId, id)));
  return rows.flatMap((row, index) => {
    const workspace = StoredWorkspace.safeParse(row).data;
    return workspace && workspace.id === sortedIds[index] ? [workspace] : [];
  });
}

/**
 * Renames a workspace. Throws 404 for an unknown workspace, and 409 `workspace_name_taken` if another workspace has the
 * name.
 */
export function renameWorkspace(
  accountId: string,
  id: string,
  name: string,
  context: Context,
): Promise<StoredWorkspace> {
  return context.commit(async () => {
    const old = await getWorkspace(accountId, id, context);
    if (old.name === name) return { value: old, writes: [], changes: [], current: old };
    const renamed = { ...old, name, updated_at: context.now().toISOString(), version: old.version + 1 };
    const names = { from: workspaceNameKeys(accountId, old.name), to: workspaceNameKeys(accountId, name) };
    return {
      value: renamed,
      writes: [
        { put: { ...workspaceKey(accountId, id), ...renamed }, if: { id, version: old.version } },
        ...(await planNameChange(context.table, names, id, nameTaken(context))),
      ],
      changes: [change(workspaceKind, "updated", id, { before: old, after: renamed })],
    };
  });
}

/** The key of the workspace with this id. An id in another form gets a key that no workspace has. */
export const workspaceKey = (accountId: string, id: string): Key =>
  rowKey(workspacesOf(accountId), ordinalOf(id) ?? 2 ** 40);

/** Finds the workspace that the body of a request names. */
export const workspaceInBody: ResourceLookup<
  { params: { account_id: string }; body: { workspace_id: string } },
  StoredWorkspace
> = {
  at: ["body", "workspace_id"],
  within: ["workspace"],
  missing: noSuchWorkspace,
  find: ({ params, body }, table) => locatedWorkspace(table, params.account_id, body.workspace_id),
};

/** Finds the workspace that the query of a request names. */
export const workspaceInQuery: ResourceLookup<
  { params: { account_id: string }; query: { workspace_id: string } },
  StoredWorkspace
> = {
  at: ["query", "workspace_id"],
  within: ["workspace"],
  missing: noSuchWorkspace,
  find: ({ params, query }, table) => locatedWorkspace(table, params.account_id, query.workspace_id),
};

async function locatedWorkspace(
  table: Reader,
  accountId: string,
  id: string,
): Promise<LocatedResource<StoredWorkspace> | undefined> {
  const workspace = await table.get(workspaceKey(accountId, id), StoredWorkspace);
  return workspace?.id === id ? { id, scopes: [{ type: "workspace", id }], thing: workspace } : undefined;
}
