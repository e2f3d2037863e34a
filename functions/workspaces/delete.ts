import { deleteWorkspace, aheadOfWorkspace } from "../../shared/deletion/workspace.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { workspaceKind, WorkspaceParams, workspaceScope } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "workspaces.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/workspaces/{workspace_id}", etag: workspaceKind },
  summary: "Delete an empty workspace",
  synonyms: ["remove", "get rid of", "close", "team", "department", "project", "space"],
  description:
    "Only a workspace without domains can be deleted (409 `workspace_not_empty`). Move or delete its domains first. A domain in the status `releasing` still counts: delete it with `domains.delete` and `purge=true`. The grants, assigned roles, master passwords and forwarding rules of the workspace are deleted too. A user or service account that has no other permission and is in no group loses its access to the account.",
  capability: "workspace.manage",
  scope: workspaceScope,
  access: "write",
  resumes: true,
  params: WorkspaceParams,
  output: Empty,
  problems: ["workspace_not_empty"],
  ahead: ({ params }) => aheadOfWorkspace(params.account_id, params.workspace_id),
  run: async ({ params }, context) => {
    await deleteWorkspace(params.account_id, params.workspace_id, context);
    return {};
  },
});

export const handler = http(route);
