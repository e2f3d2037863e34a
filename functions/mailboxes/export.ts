import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http.ts";
import { exportMailboxes } from "../../shared/mailboxes/export.ts";
import { mailboxQuery } from "../../shared/mailboxes/list.ts";
import { MailboxExport } from "../../shared/mailboxes/stored-export.ts";
import { defineRoute } from "../../shared/route.ts";

export const route = defineRoute({
  name: "mailboxes.export",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/export",
  summary: "Export mailboxes as CSV",
  description:
    "Up to 500 mailboxes (200 KB) are in the answer, as `csv`, or as the body itself for who sends `Accept: text/csv`. Of more, and where many must be looked at to find them, the answer has an `id`: `mailboxes.exports.get` says how far it is and where the file is. A cell that a spreadsheet would take for a formula begins with an apostrophe.",
  capability: "mailbox.export",
  scope: "visible",
  access: "write",
  limit: "search",
  params: AccountParams,
  body: z.strictObject(mailboxQuery).meta({ id: "MailboxExportCreate", description: "Which mailboxes to export." }),
  output: MailboxExport,
  text: { type: "text/csv", of: (output) => (output as MailboxExport).csv ?? undefined },
  run: ({ params, body }, context) => exportMailboxes(params.account_id, body, context),
});

export const handler = http(route);
