import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfRename, changeMailbox } from "../../shared/mail/mailboxes/change.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind, personName } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}", etag: mailboxKind },
  summary: "Update a mailbox's profile",
  synonyms: ["change", "edit", "rename", "name", "married", "person", "user", "email address"],
  capability: "mailbox.update",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({
      first_name: personName("The given name of the mailbox's user.").optional(),
      last_name: personName("The family name of the mailbox's user.").optional(),
    })
    .meta({ id: "MailboxUpdate", description: "Changes to a mailbox's profile." }),
  output: Mailbox,
  ahead: ({ params }, expected) => aheadOfRename(expected, params.account_id, params.mailbox),
  run: ({ body, found }, context) => changeMailbox(found, body, "updated", context),
});

export const handler = http(route);
