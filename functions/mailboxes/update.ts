import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { changeMailbox } from "../../shared/mail/mailboxes/change.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind, personName } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.update",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}",
  summary: "Update profile fields",
  capability: "mailbox.update",
  subject: mailboxInPath,
  etag: mailboxKind,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({
      first_name: personName("Given name of who has it.").optional(),
      last_name: personName("Family name of who has it.").optional(),
    })
    .meta({ id: "MailboxUpdate", description: "What changes of a mailbox's profile." }),
  output: Mailbox,
  run: ({ body, found }, context) => changeMailbox(found, body, "updated", context),
});

export const handler = http(route);
