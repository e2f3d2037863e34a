import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { mailboxInPath, MailboxParams, aheadOfMailbox } from "../../shared/mail/mailboxes/find.ts";
import { Credentials, revealCredentials } from "../../shared/mail/mailboxes/reveal.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";

export const route = defineRoute({
  name: "mailboxes.reveal_credentials",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/reveal-credentials" },
  summary: "Reveal credentials for one-time display",
  synonyms: ["show me the password", "password", "show", "see", "login", "sign in", "what is"],
  description:
    "Shows the mailbox's password once. The same request destroys the stored copy, so the password cannot be shown again.",
  capability: "mailbox.reveal",
  subject: mailboxInPath,
  access: "write",
  lambda: { uses: ["secrets"] },
  shownOnce: ["password"],
  limit: "sensitive",
  params: MailboxParams,
  output: Credentials,
  problems: ["secret_already_shown", "upstream_unavailable"],
  ahead: ({ params }, expected) => aheadOfMailbox(expected, params.account_id, params.mailbox),
  run: ({ found }, context) => revealCredentials(found, context, loginWork()),
});

export const handler = http(route);
