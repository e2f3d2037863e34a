import * as z from "zod";

import {
  AuthGroup,
  GroupAttributes,
  GroupDescription,
  GroupName,
  GroupParams,
  groupKind,
  updateGroup,
  aheadOfGroup,
} from "../../../shared/access/groups/group.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}", etag: groupKind },
  summary: "Change a group, or move it into another",
  synonyms: ["team", "rename", "edit"],
  description:
    "Members of the body that you leave out stay as they are. Null removes the description, and empties the attributes. To move a group into a parent, you must hold everything that the parent and the groups above it give. The group's members then get these permissions, and lose the permissions that came from the former parent. Groups can be nested 16 levels deep (409 `limit_reached`). If the group owns the account, directly or through a group above it, only owners and super admins can move it.",
  capability: "auth.manage",
  access: "write",
  params: GroupParams,
  body: z
    .strictObject({
      name: GroupName.optional(),
      attributes: GroupAttributes,
      description: GroupDescription,
      parent_id: Id.nullish().meta({
        description: "The group to move this group into. Null takes the group out of its parent group.",
      }),
    })
    .meta({ id: "AuthGroupUpdate", description: "The changes to a group." }),
  output: AuthGroup,
  problems: ["would_escalate", "group_name_taken", "group_cycle", "limit_reached"],
  ahead: ({ params }) => aheadOfGroup(params.account_id, params.group_id),
  run: ({ params, body }, context) => updateGroup(params.account_id, params.group_id, body, context),
});

export const handler = http(route);
