import { GroupParams } from "../../../../shared/access/groups/group.ts";
import { removeMember, aheadOfMemberRemoval } from "../../../../shared/access/groups/members.ts";
import { Id } from "../../../../shared/core/ids.ts";
import { http } from "../../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.members.remove",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}/members/{member_id}" },
  summary: "Remove a member from a group",
  synonyms: ["person", "people", "team", "colleague", "kick", "leave"],
  description:
    "The member loses the permissions that this membership gives, from the next request on. A user whose token names the group in the `groups` claim is still a member: remove the group from the claim too. If the group owns the account, directly or through a group above it, only owners and super admins can remove a member.",
  capability: "auth.manage",
  access: "write",
  params: GroupParams.extend({ member_id: Id.meta({ description: "The user's or service account's id." }) }),
  output: Empty,
  problems: ["would_escalate"],
  ahead: ({ params }) => aheadOfMemberRemoval(params.account_id, params.group_id, params.member_id),
  run: async ({ params }, context) => {
    await removeMember(params.account_id, params.group_id, params.member_id, context);
    return {};
  },
});

export const handler = http(route);
