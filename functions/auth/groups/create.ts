import * as z from "zod";

import {
  AuthGroup,
  GroupAttributes,
  GroupDescription,
  GroupName,
  createGroup,
} from "../../../shared/access/groups/group.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.groups.create",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/auth/groups",
  summary: "Create a group",
  description:
    "A group holds nothing until something is granted to it. Its members are those whose token names its `idp_name` in the `groups` claim, and those made members explicitly.",
  capability: "auth.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({ name: GroupName, attributes: GroupAttributes, description: GroupDescription })
    .meta({ id: "AuthGroupCreate", description: "A group to create." }),
  codeArguments: "payload",
  status: 201,
  output: AuthGroup,
  location: "/v1/public/accounts/{account_id}/auth/groups/{id}",
  problems: ["group_name_taken", "limit_reached"],
  run: ({ params, body }, context) => createGroup(params.account_id, body, context),
});

export const handler = http(route);
