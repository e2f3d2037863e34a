import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { MailboxExport, csvNameOf, exportMailboxes } from "../../shared/mail/mailboxes/export.ts";
import { mailboxQuery } from "../../shared/mail/mailboxes/list.ts";

/** The CSV file that is the body of an answer. Undefined for an answer about an export in the background. */
function fileOf(output: unknown): { name: string; text: string } | undefined {
  const { csv, created_at } = output as MailboxExport;
  return csv === null ? undefined : { name: csvNameOf(created_at), text: csv };
}

export const route = defineRoute({
  name: "mailboxes.export",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/mailboxes/export",
    file: { type: "text/csv", of: fileOf },
    later: {
      is: (output) => (output as MailboxExport).id !== null,
      location: "/v1/public/accounts/{account_id}/mailboxes/exports/{id}",
    },
  },
  summary: "Export mailboxes as CSV",
  synonyms: ["download", "spreadsheet", "Excel", "list", "backup", "email addresses", "inboxes", "users"],
  description:
    "An export of up to 500 mailboxes (200 KB) is answered at once, with a CSV file as the body. If `Accept` gives `application/json` a higher weight than `text/csv`, the answer is JSON with the file in `csv`. Code mode always gets the JSON. A larger export runs in the background, and so does an export that must search through many mailboxes. The answer for an export in the background is 202 with JSON that has an `id`, whatever `Accept` says. `Location` leads to `mailboxes.exports.get`, which reports the progress and the address of the file. A cell that a spreadsheet would read as a formula begins with an apostrophe. An export counts as a change, so a suspended or closed account gets 403 `account_suspended`. `mailboxes.list` still works for this account.",
  capability: "mailbox.export",
  scope: "visible",
  access: "write",
  limit: "search",
  params: AccountParams,
  body: z.strictObject(mailboxQuery).meta({ id: "MailboxExportCreate", description: "The mailboxes to export." }),
  output: MailboxExport,
  run: ({ params, body }, context) => exportMailboxes(params.account_id, body, context),
});

export const handler = http(route);
