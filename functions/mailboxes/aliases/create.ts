import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { addAlias, AliasText } from "../../../shared/mail/mailboxes/aliases.ts";
import { mailboxInPath, MailboxParams, aheadOfMailbox } from "../../../shared/mail/mailboxes/find.ts";
import { Alias } from "../../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.aliases.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/aliases", status: 201 },
  summary: "Create an alias",
  synonyms: [
    "add",
    "second",
    "extra",
    "additional",
    "another",
    "email address",
    "info",
    "sales",
    "catch-all",
    "everything",
    "any",
  ],
  description:
    "Adds another address to the mailbox, in the mailbox's own domain. The mailbox's user can log in with the alias. A domain has one catch-all at most.",
  capability: "mailbox.update",
  subject: mailboxInPath,
  access: "write",
  params: MailboxParams,
  body: z
    .strictObject({
      alias: AliasText,
      is_catch_all: z
        .boolean()
        .optional()
        .meta({ description: "Whether the alias is the domain's catch-all. It is true for the alias `*` only." }),
    })
    .meta({ id: "MailboxAliasCreate", description: "A new alias." }),
  output: Alias,
  problems: ["address_taken", "domain_not_ready", "limit_reached"],
  ahead: ({ params }, expected) => aheadOfMailbox(expected, params.account_id, params.mailbox),
  run: ({ body, found }, context) => addAlias(found, body, context),
});

export const handler = http(route);
