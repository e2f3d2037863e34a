import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { mailboxOrAliasInPath, MailboxOrAliasParams } from "../../../shared/mail/mailboxes/find.ts";
import { aheadOfUsage, mailboxUsage, MailboxUsage } from "../../../shared/mail/usage/view.ts";

export const route = defineRoute({
  name: "mailboxes.usage.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/usage" },
  summary: "Read what a mailbox uses",
  synonyms: ["space", "storage", "quota", "full", "size", "bytes", "sent", "volume", "last login", "inactive", "count"],
  description:
    "Returns the space that the mailbox uses, its last login, and the mail that it sent on each of the last 30 days. The mail servers report these values every few minutes.",
  capability: "mailbox.view",
  subject: mailboxOrAliasInPath,
  access: "read",
  params: MailboxOrAliasParams,
  output: MailboxUsage,
  ahead: ({ params }, expected) => aheadOfUsage(params.account_id, params.mailbox, expected),
  run: ({ found }, context) => mailboxUsage(found, context),
});

export const handler = http(route);
