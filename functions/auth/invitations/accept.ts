import {
  AcceptedInvitation,
  acceptInvitation,
  invitationInBody,
  TokenBody,
} from "../../../shared/access/invitations/accept.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.invitations.accept",
  http: { method: "POST", path: "/v1/public/invitations/accept" },
  summary: "Accept an invitation to an account",
  synonyms: ["join", "link", "token", "confirm", "become a member"],
  description:
    "Gives you the access that an invitation promises. Sign in with the invited address, which the issuer of your token must have verified. The link in the mail opens a page on which you can sign in and accept. You get only those permissions of the invitation that the inviter still holds. If you accept again, you get the same answer.",
  capability: null,
  open: "The token in the mail, together with the verified address of the caller, is the permission.",
  access: "write",
  subject: invitationInBody,
  limit: "sensitive",
  body: TokenBody,
  output: AcceptedInvitation,
  problems: [
    "account_suspended",
    "email_not_verified",
    "invitation_not_yours",
    "invitation_used",
    "invitation_ended",
    "limit_reached",
    "upstream_unavailable",
  ],
  run: ({ found }, context) => acceptInvitation(found, context),
});

export const handler = http(route);
