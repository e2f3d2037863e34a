import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfWorkspaces, listWorkspaces, Workspace } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "workspaces.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/workspaces" },
  summary: "List workspaces",
  synonyms: ["teams", "departments", "projects", "folders", "spaces", "show"],
  description: "The workspaces of the account that you may see, oldest first.",
  capability: "workspace.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(Workspace, "workspaces").meta({ id: "WorkspaceListResponse", description: "A page of workspaces." }),
  ahead: ({ params, query }, expected) => aheadOfWorkspaces(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({
    ...(await listWorkspaces(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
