import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  getWorkspace,
  Workspace,
  workspaceKind,
  WorkspaceParams,
  workspaceScope,
  workspaceKey,
} from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "workspaces.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/workspaces/{workspace_id}", etag: workspaceKind },
  summary: "Get a workspace",
  synonyms: ["show", "details", "team", "department", "project", "space"],
  capability: "workspace.view",
  scope: workspaceScope,
  access: "read",
  params: WorkspaceParams,
  output: Workspace,
  ahead: ({ params }) => ({ keys: [workspaceKey(params.account_id, params.workspace_id)] }),
  run: ({ params }, context) => getWorkspace(params.account_id, params.workspace_id, context),
});

export const handler = http(route);
