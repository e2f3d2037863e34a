import * as z from "zod";

import {
  AuthGroup,
  GroupAttributes,
  GroupDescription,
  GroupName,
  createGroup,
  aheadOfNewGroup,
} from "../../../shared/access/groups/group.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.create",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/auth/groups",
    status: 201,
    location: "/v1/public/accounts/{account_id}/auth/groups/{id}",
  },
  summary: "Create a group",
  synonyms: ["team", "new", "add", "people"],
  description:
    "A new group holds nothing: grant it capabilities or assign it roles. Its members are the users whose token names the group's `idp_name` in the `groups` claim, and the users and service accounts that you add with `auth.groups.members.add`. An account can have 2,000 groups (409 `limit_reached`).",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({ name: GroupName, attributes: GroupAttributes, description: GroupDescription })
    .meta({ id: "AuthGroupCreate", description: "A group to create." }),
  codeMode: { arguments: "payload" },
  output: AuthGroup,
  problems: ["group_name_taken", "limit_reached"],
  ahead: ({ params }) => aheadOfNewGroup(params.account_id),
  run: ({ params, body }, context) => createGroup(params.account_id, body, context),
});

export const handler = http(route);
