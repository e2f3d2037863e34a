import * as z from "zod";

import { filesHere } from "../../../shared/billing/services.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { MailboxExport, getExport, exportKey } from "../../../shared/mail/mailboxes/export.ts";

export const route = defineRoute({
  name: "mailboxes.exports.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes/exports/{export_id}" },
  summary: "Read the state of a mailbox export",
  synonyms: ["download", "finished", "ready", "progress", "spreadsheet", "Excel"],
  description:
    "Reports how many mailboxes the export holds so far. Once the export is done, the answer has the address to download the file. An export is kept for 7 days. The caller who requested the export can read it, as long as this caller has all permissions with which the mailboxes were exported. Callers who may export the whole account can also read it. All others get 404.",
  capability: "mailbox.export",
  scope: "visible",
  access: "read",
  lambda: { uses: ["files"] },
  // The answer has an address that works without a credential, for a short time.
  codeMode: { storesAnswer: false },
  params: z.strictObject({
    account_id: Id.meta({ description: "The account's id." }),
    export_id: Id.meta({ description: "The export's id." }),
  }),
  output: MailboxExport,
  ahead: ({ params }) => ({ keys: [exportKey(params.account_id, params.export_id)] }),
  run: ({ params }, context) => getExport(params.account_id, params.export_id, context, filesHere),
});

export const handler = http(route);
