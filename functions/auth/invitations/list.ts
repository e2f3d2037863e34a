import * as z from "zod";

import { Invitation, InvitationStatus } from "../../../shared/access/invitations/invitation.ts";
import { aheadOfInvitations, listInvitations } from "../../../shared/access/invitations/manage.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { orderQuery, pageOf, pageQuery } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.invitations.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/invitations" },
  summary: "List invitations",
  synonyms: ["invited", "pending", "accepted", "who", "people", "show"],
  description:
    "The invitations to the account, oldest first unless you turn the order around. They include invitations that were accepted, were revoked, or have expired. If the account has more than 20,000 invitations, a filter by `status` is a 422 (`too_broad`).",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    status: InvitationStatus.optional().meta({ description: "Only invitations in this status." }),
    ...pageQuery,
    ...orderQuery("asc"),
  }),
  output: pageOf(Invitation, "invitations").meta({
    id: "InvitationListResponse",
    description: "A page of invitations.",
  }),
  ahead: ({ params, query }) => aheadOfInvitations(params.account_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listInvitations(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
