import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { changeMailbox } from "../../shared/mail/mailboxes/change.ts";
import { mailboxInPath, MailboxParams } from "../../shared/mail/mailboxes/find.ts";
import { Mailbox, mailboxKind } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.activate",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/active",
  summary: "Pause or resume a mailbox",
  description: "Paused: no login and no sending, while mail still arrives.",
  capability: "mailbox.update",
  subject: mailboxInPath,
  etag: mailboxKind,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({ active: z.boolean().meta({ description: "Whether it can be logged in to and sent from." }) })
    .meta({ id: "MailboxActivate", description: "Whether a mailbox is active." }),
  output: Mailbox,
  problems: ["mailbox_not_ready"],
  run: ({ body, found }, context) =>
    changeMailbox(found, { status: body.active ? "active" : "paused" }, body.active ? "resumed" : "paused", context),
});

export const handler = http(route);
