import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Rotated, rotatePassword } from "../../shared/mail/mailboxes/reveal.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";

export const route = defineRoute({
  name: "mailboxes.rotate_password",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/rotate-password",
  summary: "Give a mailbox a new password",
  description: "The old one does not work any more; the new one is shown once by `mailboxes.reveal_credentials`.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  uses: ["secrets"],
  limit: "sensitive",
  params: MailboxParams,
  output: Rotated,
  problems: ["upstream_unavailable"],
  run: ({ found }, context) => rotatePassword(found, context, loginWork()),
});

export const handler = http(route);
