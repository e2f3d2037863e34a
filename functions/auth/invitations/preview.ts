import {
  InvitationPreview,
  invitationInBody,
  previewInvitation,
  TokenBody,
} from "../../../shared/access/invitations/accept.ts";
import { signInAt, SignIn } from "../../../shared/auth/issuer-metadata.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { runtime } from "../../../shared/http/runtime.ts";

export const route = defineRoute({
  name: "auth.invitations.preview",
  http: { method: "POST", path: "/v1/public/invitations/preview" },
  summary: "Show the invitation of a link",
  synonyms: ["link", "token", "invited"],
  description:
    "Shows the invitation to which the link in an invitation mail belongs, and how the invited person can sign in to accept it. Needs no access token. Changes nothing.",
  capability: null,
  open: "The token in the mail is the credential, because only the recipient can read the mail.",
  public: true,
  // The route changes nothing. It is declared as a write, because only a write stores its answer. With a stored answer,
  // a repeat with the same idempotency key gets the same answer.
  access: "write",
  subject: invitationInBody,
  limit: "sensitive",
  body: TokenBody,
  output: InvitationPreview.extend({
    sign_in: SignIn.nullable().meta({ description: "How to sign in. Null if this deployment has no sign-in page." }),
  }).meta({ id: "InvitationPreview", description: "An invitation, as the holder of its link sees it." }),
  problems: ["account_suspended", "upstream_unavailable"],
  run: async ({ found }, context) => {
    const value = {
      ...previewInvitation(found, context.now()),
      sign_in: await signInAt(runtime().env.ISSUERS),
    };
    return context.commit(async () => ({ value, writes: [], changes: [] }));
  },
});

export const handler = http(route);
