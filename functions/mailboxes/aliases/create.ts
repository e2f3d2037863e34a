import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { addAlias, AliasText } from "../../../shared/mail/mailboxes/aliases.ts";
import { mailboxInPath, MailboxParams } from "../../../shared/mail/mailboxes/find.ts";
import { Alias } from "../../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.aliases.create",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/aliases",
  summary: "Create an alias",
  description: "Another address of the mailbox, in its own domain; one may log in by it. A domain has one catch-all.",
  capability: "mailbox.update",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({
      alias: AliasText,
      is_catch_all: z.boolean().optional().meta({ description: "Whether it is the catch-all; then the alias is `*`." }),
    })
    .meta({ id: "MailboxAliasCreate", description: "A new alias." }),
  status: 201,
  output: Alias,
  problems: ["address_taken", "domain_not_ready", "limit_reached"],
  run: ({ body, found }, context) => addAlias(found, body, context),
});

export const handler = http(route);
