import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { mailboxInPath, MailboxParams, aheadOfMailbox } from "../../shared/mail/mailboxes/find.ts";
import { Rotated, rotatePassword } from "../../shared/mail/mailboxes/reveal.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";

export const route = defineRoute({
  name: "mailboxes.rotate_password",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/rotate-password" },
  summary: "Give a mailbox a new password",
  synonyms: ["reset", "change", "forgot", "forgotten", "lost", "login", "email", "user"],
  description:
    "Generates a new password. The old password stops working at once, and open sessions of the mailbox end. App passwords of the mailbox stay valid. Delete them with `mailboxes.app_passwords.delete`. Master passwords also stay valid. `mailboxes.reveal_credentials` shows the new password once.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  lambda: { uses: ["secrets"] },
  limit: "sensitive",
  params: MailboxParams,
  output: Rotated,
  problems: ["upstream_unavailable"],
  ahead: ({ params }, expected) => aheadOfMailbox(expected, params.account_id, params.mailbox),
  run: ({ found }, context) => rotatePassword(found, context, loginWork()),
});

export const handler = http(route);
