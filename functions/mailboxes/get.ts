import { notFound } from "../../shared/core/errors.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { mailboxOrAliasInPath, MailboxOrAliasParams, aheadOfMailbox } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind } from "../../shared/mail/mailboxes/mailbox.ts";
import { mailboxViewsIn } from "../../shared/mail/mailboxes/view.ts";

export const route = defineRoute({
  name: "mailboxes.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}", etag: mailboxKind },
  summary: "Read a mailbox",
  synonyms: ["show", "details", "email address", "inbox", "user", "full", "space", "storage", "quota", "size"],
  capability: "mailbox.view",
  subject: mailboxOrAliasInPath,
  access: "read",
  params: MailboxOrAliasParams,
  output: Mailbox,
  ahead: ({ params }, expected) => aheadOfMailbox(expected, params.account_id, params.mailbox),
  run: async ({ params, found }, { table }) => {
    const [view] = await mailboxViewsIn([found.domain], table, params.account_id, [found.mailbox]);
    if (!view) throw notFound();
    return view;
  },
});

export const handler = http(route);
