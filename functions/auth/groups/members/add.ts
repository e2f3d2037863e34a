import * as z from "zod";

import { GroupParams } from "../../../../shared/access/groups/group.ts";
import { GroupMember, MemberType, addMember } from "../../../../shared/access/groups/members.ts";
import { SubjectId } from "../../../../shared/grants/references.ts";
import { http } from "../../../../shared/http/rest.ts";
import { defineRoute } from "../../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.members.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}/members",
  summary: "Make a user or service account a member of a group",
  description:
    "The caller must hold all that the group gives, by itself and by the groups it is inside of. Who is a member already stays one.",
  capability: "auth.manage",
  access: "write",
  params: GroupParams,
  body: z
    .strictObject({ subject_id: SubjectId.meta({ description: "Whom to add." }), subject_type: MemberType })
    .meta({ id: "GroupMemberAdd", description: "Whom to make a member." }),
  status: 201,
  output: GroupMember,
  problems: ["would_escalate", "limit_reached"],
  run: ({ params, body }, context) => {
    const member = { type: body.subject_type, id: body.subject_id };
    return addMember(params.account_id, params.group_id, member, context);
  },
});

export const handler = http(route);
