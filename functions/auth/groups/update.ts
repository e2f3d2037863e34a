import * as z from "zod";

import {
  AuthGroup,
  GroupAttributes,
  GroupDescription,
  GroupName,
  GroupParams,
  groupKind,
  updateGroup,
} from "../../../shared/access/groups/group.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.update",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}",
  summary: "Change a group, or move it into another",
  description:
    "Only what is given changes. Inside of another group its members inherit what that group holds, so the caller must hold all of it.",
  capability: "auth.manage",
  etag: groupKind,
  access: "write",
  params: GroupParams,
  body: z
    .strictObject({
      name: GroupName.optional(),
      attributes: GroupAttributes,
      description: GroupDescription,
      parent_id: Id.nullish().meta({ description: "The group to move it into; null moves it out." }),
    })
    .meta({ id: "AuthGroupUpdate", description: "What to change." }),
  output: AuthGroup,
  problems: ["would_escalate", "group_name_taken", "group_cycle", "limit_reached"],
  run: ({ params, body }, context) => updateGroup(params.account_id, params.group_id, body, context),
});

export const handler = http(route);
