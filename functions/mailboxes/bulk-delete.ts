import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import {
  BulkDeleteAnswer,
  deleteMailboxes,
  previewDeletion,
  requireDeleted,
} from "../../shared/mail/mailboxes/bulk-delete.ts";

export const route = defineRoute({
  name: "mailboxes.bulk_delete",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/bulk-delete" },
  summary: "Delete mailboxes in bulk",
  synonyms: ["remove", "many", "several", "multiple", "at once", "mass", "email addresses", "inboxes", "users"],
  description:
    "Deletes up to 100 mailboxes, as `mailboxes.delete` does. Each of them can be restored for 7 days. A mailbox that cannot be deleted is in `failed` with its reason, and the other mailboxes are deleted. After 18 seconds the request starts no more deletions. The remaining mailboxes are in `failed` with the code `not_attempted`. Send them again in a new request. If you get no answer, or a 503, some or all of the mailboxes may be deleted. If your request had an `Idempotency-Key`, repeat it with the same key. The repeat deletes the rest and answers for all mailboxes. Without a key, a mailbox that the first request deleted fails with `not_found`.",
  capability: "mailbox.delete",
  scope: "visible",
  access: "write",
  usesPermissions: true,
  resumes: true,
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({
      mailboxes: z
        .array(z.string().max(1_000).meta({ description: "A mailbox's id or its address." }))
        .min(1)
        .max(100)
        .meta({
          description: "The mailboxes, 1 to 100. They may be of several domains.",
          examples: [["ada@example.com"]],
        }),
    })
    .meta({ id: "MailboxBulkDelete", description: "The mailboxes to delete." }),
  output: BulkDeleteAnswer,
  preview: ({ params, body }, context) => previewDeletion(params.account_id, body.mailboxes, context),
  checkRepeat: ({ params }, context, answer) => requireDeleted(params.account_id, answer, context),
  run: ({ params, body }, context) => deleteMailboxes(params.account_id, body.mailboxes, context),
});

export const handler = http(route);
