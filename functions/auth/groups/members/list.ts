import * as z from "zod";

import { GroupParams } from "../../../../shared/access/groups/group.ts";
import { GroupMember, listMembers, aheadOfMembers } from "../../../../shared/access/groups/members.ts";
import { readNames, subjectMembers, withSubjects } from "../../../../shared/access/members.ts";
import { pageOf, pageQuery } from "../../../../shared/core/page.ts";
import { http } from "../../../../shared/http/rest.ts";
import { defineRoute } from "../../../../shared/http/route.ts";

const ListedGroupMember = GroupMember.extend(subjectMembers).meta({
  id: "ListedGroupMember",
  description: "A member that was added to a group, with the member's name.",
});

export const route = defineRoute({
  name: "auth.groups.members.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}/members" },
  summary: "List the explicit members of a group",
  synonyms: ["who", "team", "people", "users", "show"],
  description:
    "The members that were added with `auth.groups.members.add`, in the order in which they were added. Users who are members by the `groups` claim of their token are not listed.",
  capability: "auth.manage",
  access: "read",
  params: GroupParams,
  query: z.strictObject(pageQuery),
  output: pageOf(ListedGroupMember, "members").meta({
    id: "GroupMemberListResponse",
    description: "A page of members.",
  }),
  ahead: ({ params, query }) => aheadOfMembers(params.account_id, params.group_id, query),
  run: async ({ params: { account_id, group_id }, query }, context) => {
    const { items, total } = await listMembers(account_id, group_id, query, context);
    return { items: withSubjects(items, await readNames(context.table, account_id, items)), total, ...query };
  },
});

export const handler = http(route);
