import { Invitation, NewInvitation } from "../../../shared/access/invitations/invitation.ts";
import { aheadOfInvitation, createInvitation } from "../../../shared/access/invitations/manage.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { clock } from "../../../shared/core/time.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.invitations.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/auth/invitations", status: 201 },
  summary: "Invite a person by e-mail",
  synonyms: ["invite", "add user", "colleague", "teammate", "let in", "share", "access", "new member", "resend"],
  description:
    "Sends a mail with a link. The link opens a page on which the person signs in with the invited address and accepts the invitation, within 7 days. You can give only permissions that you hold yourself, on the same scope or on a wider one. Only owners and super admins can give ownership. When the person accepts the invitation, the person gets only those permissions of the invitation that you still hold. If you no longer hold `auth.manage` on the account at that time, the person gets nothing. An address has one pending invitation at most. If you invite the address again, the new invitation replaces the old one: a new mail is sent, the 7 days begin again, and the old link no longer works. An address gets at most one mail a minute and 5 in 24 hours, from all accounts together. An account sends at most 200 invitation mails on a day (UTC), and 40 of them to one domain. The mails that ask recipients of forwarding to agree count toward the same limits. Beyond a limit the answer is a 429 (`rate_limited`).",
  capability: "auth.manage",
  access: "write",
  limit: "outbound",
  params: AccountParams,
  body: NewInvitation,
  output: Invitation,
  problems: ["mail_unavailable", "would_escalate", "rate_limited"],
  ahead: ({ params, body }, expected) => aheadOfInvitation(params.account_id, body, expected, clock()),
  run: ({ params, body }, context) => createInvitation(params.account_id, body, context),
});

export const handler = http(route);
