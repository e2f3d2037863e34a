import { InvitationParams } from "../../../shared/access/invitations/invitation.ts";
import { aheadOfInvitationById, revokeInvitation } from "../../../shared/access/invitations/manage.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.invitations.revoke",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/auth/invitations/{invitation_id}" },
  summary: "Revoke an invitation",
  synonyms: ["cancel", "withdraw", "uninvite", "take back", "delete"],
  description:
    "The link of the invitation no longer works. An invitation that was accepted cannot be revoked: revoke the grants and roles of its user instead.",
  capability: "auth.manage",
  access: "write",
  params: InvitationParams,
  output: Empty,
  problems: ["invitation_used"],
  ahead: ({ params }) => aheadOfInvitationById(params.account_id, params.invitation_id),
  run: async ({ params }, context) => {
    await revokeInvitation(params.account_id, params.invitation_id, context);
    return {};
  },
});

export const handler = http(route);
