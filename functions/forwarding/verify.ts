import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { agreeByToken, tokenInBody } from "../../shared/mail/forwarding/confirm.ts";

export const route = defineRoute({
  name: "forwarding.verify",
  method: "POST",
  path: "/v1/public/forwarding/verify",
  summary: "Confirm a recipient by a link's token",
  description:
    "The recipient agrees by the link in the mail to them: the page that it opens sends its token here, once they press the button. A token is good for 48 hours and once. Whatever is wrong with one, the answer is the same.",
  capability: null,
  open: "The token in the mail is the credential: who has it reads the recipient's mail.",
  public: true,
  subject: tokenInBody,
  access: "write",
  resumes: true,
  limit: "sensitive",
  body: z
    .strictObject({
      token: z.string().min(1).max(200).meta({ description: "What stands behind the # of the link." }),
    })
    .meta({ id: "ForwardingVerify", description: "The token of a link." }),
  output: z
    .object({
      target_email: z.string().meta({ description: "The address that was confirmed, masked." }),
      verification_state: z.literal("verified").meta({ description: "It is confirmed." }),
    })
    .meta({ id: "ForwardingVerified", description: "A recipient who agreed." }),
  run: ({ found }, context) => agreeByToken(found, context),
});

export const handler = http(route);
