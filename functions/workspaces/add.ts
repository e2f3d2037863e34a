import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfList } from "../../shared/table/ranked-list.ts";
import { addWorkspace, Workspace, WorkspaceName, workspacesOf } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "workspaces.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/workspaces",
    status: 201,
    location: "/v1/public/accounts/{account_id}/workspaces/{id}",
  },
  summary: "Create a workspace",
  synonyms: ["new", "make", "team", "department", "project", "folder", "space"],
  capability: "workspace.manage",
  access: "write",
  params: AccountParams,
  body: z.strictObject({ name: WorkspaceName }).meta({ id: "WorkspaceCreate", description: "A workspace to create." }),
  output: Workspace,
  problems: ["workspace_name_taken"],
  ahead: ({ params }) => aheadOfList(workspacesOf(params.account_id)),
  run: ({ params, body }, context) => addWorkspace(params.account_id, body.name, context),
});

export const handler = http(route);
