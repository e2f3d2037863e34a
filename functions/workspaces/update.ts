import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  renameWorkspace,
  Workspace,
  workspaceKind,
  WorkspaceName,
  WorkspaceParams,
  workspaceScope,
  workspaceKey,
} from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "workspaces.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/workspaces/{workspace_id}", etag: workspaceKind },
  summary: "Rename a workspace",
  synonyms: ["change", "edit", "name", "team", "department", "project", "space"],
  capability: "workspace.manage",
  scope: workspaceScope,
  access: "write",
  params: WorkspaceParams,
  body: z
    .strictObject({ name: WorkspaceName })
    .meta({ id: "WorkspaceUpdate", description: "The workspace's new name." }),
  output: Workspace,
  problems: ["workspace_name_taken"],
  ahead: ({ params }) => ({ keys: [workspaceKey(params.account_id, params.workspace_id)] }),
  run: ({ params, body }, context) => renameWorkspace(params.account_id, params.workspace_id, body.name, context),
});

export const handler = http(route);
