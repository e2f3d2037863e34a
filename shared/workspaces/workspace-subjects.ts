import type { Located, Subject } from "../http/route.ts";
import type { Reader } from "../table/table.ts";
import { keyOf, noSuchWorkspace, StoredWorkspace } from "./workspaces.ts";

/** The workspace that the body of a route names. */
export const workspaceInBody: Subject<
  { params: { account_id: string }; body: { workspace_id: string } },
  StoredWorkspace
> = {
  at: ["body", "workspace_id"],
  within: ["workspace"],
  missing: noSuchWorkspace,
  find: ({ params, body }, table) => locatedWorkspace(table, params.account_id, body.workspace_id),
};

/** The workspace that the query of a route names. */
export const workspaceInQuery: Subject<
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
): Promise<Located<StoredWorkspace> | undefined> {
  const workspace = await table.get(keyOf(accountId, id), StoredWorkspace);
  return workspace?.id === id ? { id, scopes: [{ type: "workspace", id }], thing: workspace } : undefined;
}
