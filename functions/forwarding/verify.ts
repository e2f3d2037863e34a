import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { agreeByToken, tokenInBody } from "../../shared/mail/forwarding/confirm.ts";

export const route = defineRoute({
  name: "forwarding.verify",
  http: { method: "POST", path: "/v1/public/forwarding/verify" },
  summary: "Confirm a recipient by the token of a link",
  synonyms: ["click", "link", "agree", "accept", "confirmation"],
  description:
    "Confirms the recipient's agreement by the link in the mail to the recipient. The link opens a page, and the page sends the link's token when the recipient presses the button. A token is valid for 48 hours and works once. The answer is the same for every token that is not valid.",
  capability: null,
  open: "The token in the mail is the credential, because only the recipient can read the mail.",
  public: true,
  subject: tokenInBody,
  access: "write",
  resumes: true,
  limit: "sensitive",
  body: z
    .strictObject({
      token: z.string().min(1).max(200).meta({ description: "The part of the link after the `#`." }),
    })
    .meta({ id: "ForwardingVerify", description: "The token of a link." }),
  output: z
    .object({
      target_email: z.string().meta({ description: "The confirmed address, masked." }),
      verification_state: z
        .literal("verified")
        .meta({ description: "The new state of the rules that the mail covers." }),
    })
    .meta({ id: "ForwardingVerified", description: "The recipient who agreed." }),
  run: ({ found }, context) => agreeByToken(found, context),
});

export const handler = http(route);
