import * as z from "zod";

import { aheadOfMyPermissions, myPermissions, MyPermissions } from "../../shared/access/members.ts";
import { Id } from "../../shared/core/ids.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "me.permissions",
  http: { method: "GET", path: "/v1/public/me/permissions" },
  summary: "Get your permissions in an account",
  synonyms: ["what can I do", "may I", "rights", "allowed", "capabilities"],
  description:
    "Your permissions in an account: on the whole account, and on the resources to which some of your access is limited. `access` has the grants and roles that give you these permissions. For a grant or role that you hold through a group, it also has the group. If you are not a member of the account, the answer is a 404.",
  capability: null,
  open: "The answer is about the caller only, and strangers get a 404.",
  access: "read",
  query: z.strictObject({ account_id: Id.meta({ description: "The account." }) }),
  output: MyPermissions,
  problems: ["not_found"],
  ahead: ({ query }, expected) => aheadOfMyPermissions(query.account_id, expected),
  run: ({ query }, context) => myPermissions(query.account_id, context),
});

export const handler = http(route);
