import * as z from "zod";

import { aheadOfAccountMembers, accountMembers, AccountMember } from "../../../shared/access/members.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.members.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/members" },
  summary: "List who has access",
  synonyms: ["who", "people", "users", "team", "colleagues", "staff", "access", "owners", "show"],
  description:
    "Lists the users, and then the service accounts, that have access to the account. Each has its permissions, and the groups that give these permissions. Users who are members only by the `groups` claim of their token are not listed. Users and service accounts that have no permission and are in no group are not listed either, and neither are service accounts that have expired. A member of large groups has many permissions. If a page is too large for an answer, the answer is a 422 (`too_many`): choose a smaller `page_size`.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject(pageQuery),
  output: pageOf(AccountMember, "members").meta({ id: "AccountMemberListResponse", description: "A page of members." }),
  ahead: ({ params }) => aheadOfAccountMembers(params.account_id),
  run: async ({ params, query }, context) => ({
    ...(await accountMembers(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
