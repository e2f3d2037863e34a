import * as z from "zod";

import { GroupParams } from "../../../../shared/auth/group-view.ts";
import { GroupMember } from "../../../../shared/auth/member-places.ts";
import { listMembers } from "../../../../shared/auth/members.ts";
import { http } from "../../../../shared/http.ts";
import { pageOf, pageQuery } from "../../../../shared/page.ts";
import { defineRoute } from "../../../../shared/route.ts";

export const route = defineRoute({
  name: "auth.groups.members.list",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}/members",
  summary: "List the explicit members of a group",
  description: "In the order they were added; members by their token's `groups` claim are not listed.",
  capability: "auth.manage",
  access: "read",
  params: GroupParams,
  query: z.strictObject(pageQuery),
  output: pageOf(GroupMember, "members").meta({ id: "GroupMemberListResponse", description: "A page of members." }),
  run: async ({ params, query }, context) => ({
    ...(await listMembers(params.account_id, params.group_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
