import { notFound } from "../../shared/errors.ts";
import { http } from "../../shared/http.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mailboxes/find.ts";
import { Mailbox, mailboxKind } from "../../shared/mailboxes/mailbox.ts";
import { mailboxViews } from "../../shared/mailboxes/view.ts";
import { defineRoute } from "../../shared/route.ts";

export const route = defineRoute({
  name: "mailboxes.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}",
  summary: "Read a mailbox",
  capability: "mailbox.view",
  subject: mailboxInPath,
  etag: mailboxKind,
  access: "read",
  params: MailboxParams,
  output: Mailbox,
  run: async ({ params, found }, { table }) => {
    const [view] = await mailboxViews(table, params.account_id, [found.mailbox]);
    if (!view) throw notFound();
    return view;
  },
});

export const handler = http(route);
