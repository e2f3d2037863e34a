import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { MailboxExport, csvNameOf, exportMailboxes } from "../../shared/mail/mailboxes/export.ts";
import { mailboxQuery } from "../../shared/mail/mailboxes/list.ts";

function fileOf(output: unknown): { name: string; text: string } | undefined {
  const { csv, created_at } = output as MailboxExport;
  return csv === null ? undefined : { name: csvNameOf(created_at), text: csv };
}

export const route = defineRoute({
  name: "mailboxes.export",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/export",
  summary: "Export mailboxes as CSV",
  description:
    "Up to 500 mailboxes (200 KB) are the body itself, a CSV file; a request whose `Accept` prefers `application/json` to `text/csv` by its weights gets JSON, with the file as `csv`, as code mode does. Of more, and where many must be looked at to find them, the answer is 202 with JSON that has an `id`, whatever `Accept` says: `mailboxes.exports.get`, to which `Location` leads, says how far it is and where the file is. A cell that a spreadsheet would take for a formula begins with an apostrophe.",
  capability: "mailbox.export",
  scope: "visible",
  access: "write",
  limit: "search",
  params: AccountParams,
  body: z.strictObject(mailboxQuery).meta({ id: "MailboxExportCreate", description: "Which mailboxes to export." }),
  output: MailboxExport,
  file: { type: "text/csv", of: fileOf },
  later: {
    is: (output) => (output as MailboxExport).id !== null,
    location: "/v1/public/accounts/{account_id}/mailboxes/exports/{id}",
  },
  run: ({ params, body }, context) => exportMailboxes(params.account_id, body, context),
});

export const handler = http(route);
