import { deleteGroup, aheadOfGroupDeletion } from "../../../shared/access/groups/deletion.ts";
import { groupKind, GroupParams } from "../../../shared/access/groups/group.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}", etag: groupKind },
  summary: "Delete a group",
  synonyms: ["team", "remove", "get rid of"],
  description:
    "Deletes the group with its grants and memberships. A group that you create later with the same name does not get them. A group that contains other groups cannot be deleted (409 `group_not_empty`): first delete the contained groups or move them out. If the group owns the account, directly or through a group above it, only owners and super admins can delete it. If the deletion is not complete after 18 seconds, the answer is a 503 (`busy`): send the request again until the answer is no longer a 503. Each request deletes more.",
  capability: "auth.manage",
  access: "write",
  params: GroupParams,
  output: Empty,
  problems: ["group_not_empty", "would_escalate", "busy"],
  ahead: ({ params }) => aheadOfGroupDeletion(params.account_id, params.group_id),
  run: async ({ params }, context) => {
    await deleteGroup(params.account_id, params.group_id, context);
    return {};
  },
});

export const handler = http(route);
