import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Credentials, revealCredentials } from "../../shared/mail/mailboxes/reveal.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";

export const route = defineRoute({
  name: "mailboxes.reveal_credentials",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/reveal-credentials",
  summary: "Reveal credentials for one-time display",
  description: "The password is in one answer and never again: the copy it came from is destroyed with it.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  uses: ["secrets"],
  shownOnce: ["password"],
  limit: "sensitive",
  params: MailboxParams,
  output: Credentials,
  problems: ["secret_already_shown", "upstream_unavailable"],
  run: ({ found }, context) => revealCredentials(found, context, loginWork()),
});

export const handler = http(route);
