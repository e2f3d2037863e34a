import * as z from "zod";

import { GroupParams } from "../../../../shared/access/groups/group.ts";
import { GroupMember, MemberType, addMember, aheadOfNewMember } from "../../../../shared/access/groups/members.ts";
import { SubjectId } from "../../../../shared/grants/references.ts";
import { http } from "../../../../shared/http/rest.ts";
import { defineRoute } from "../../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.members.add",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/groups/{group_id}/members", status: 201 },
  summary: "Add a user or service account to a group",
  synonyms: ["put", "person", "people", "team", "colleague", "join", "invite"],
  description:
    "You must hold everything that the group and the groups above it give. If the subject is already a member, nothing changes. The id of a user is not checked. A member can be in 1,000 groups (409 `limit_reached`).",
  capability: "auth.manage",
  access: "write",
  params: GroupParams,
  body: z
    .strictObject({
      subject_id: SubjectId.meta({ description: "The id of the user or service account." }),
      subject_type: MemberType,
    })
    .meta({ id: "GroupMemberAdd", description: "The member to add." }),
  output: GroupMember,
  problems: ["would_escalate", "limit_reached"],
  ahead: ({ params, body }) =>
    aheadOfNewMember(params.account_id, params.group_id, { type: body.subject_type, id: body.subject_id }),
  run: ({ params, body }, context) => {
    const member = { type: body.subject_type, id: body.subject_id };
    return addMember(params.account_id, params.group_id, member, context);
  },
});

export const handler = http(route);
