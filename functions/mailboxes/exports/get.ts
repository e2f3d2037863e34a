import * as z from "zod";

import { filesHere } from "../../../shared/billing/services.ts";
import { Id } from "../../../shared/core/ids.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { MailboxExport, getExport } from "../../../shared/mail/mailboxes/export.ts";

export const route = defineRoute({
  name: "mailboxes.exports.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/mailboxes/exports/{export_id}",
  summary: "See how an export of mailboxes goes on",
  description: "How many mailboxes are in it so far, and once it is done where to download it.",
  capability: "mailbox.export",
  scope: "visible",
  access: "read",
  uses: ["files"],
  kept: false,
  params: z.strictObject({
    account_id: Id.meta({ description: "The account's id." }),
    export_id: Id.meta({ description: "The export's id." }),
  }),
  output: MailboxExport,
  run: ({ params }, context) => getExport(params.account_id, params.export_id, context, filesHere),
});

export const handler = http(route);
