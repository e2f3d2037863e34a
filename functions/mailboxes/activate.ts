import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfChange, changeMailbox } from "../../shared/mail/mailboxes/change.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.activate",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/active", etag: mailboxKind },
  summary: "Pause or resume a mailbox",
  synonyms: [
    "block",
    "stop",
    "disable",
    "enable",
    "suspend",
    "freeze",
    "lock",
    "unlock",
    "sending",
    "login",
    "email",
    "user",
  ],
  description: "While a mailbox is paused, nobody can log in to it or send from it. It still receives mail.",
  capability: "mailbox.update",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({ active: z.boolean().meta({ description: "Whether the mailbox allows login and sending." }) })
    .meta({ id: "MailboxActivate", description: "The new state of a mailbox." }),
  output: Mailbox,
  problems: ["mailbox_not_ready"],
  ahead: ({ params }, expected) => aheadOfChange(expected, params.account_id, params.mailbox),
  run: ({ body, found }, context) =>
    changeMailbox(found, { status: body.active ? "active" : "paused" }, body.active ? "resumed" : "paused", context),
});

export const handler = http(route);
