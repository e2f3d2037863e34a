import { AuthGroup, GroupParams, getGroup, groupKind, aheadOfGroup } from "../../../shared/access/groups/group.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}", etag: groupKind },
  summary: "Get a group",
  synonyms: ["team", "show", "details"],
  capability: "auth.manage",
  access: "read",
  params: GroupParams,
  output: AuthGroup,
  ahead: ({ params }) => aheadOfGroup(params.account_id, params.group_id),
  run: ({ params }, context) => getGroup(params.account_id, params.group_id, context),
});

export const handler = http(route);
