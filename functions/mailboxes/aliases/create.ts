import * as z from "zod";

import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { addAlias, AliasText, catchAllFault } from "../../../shared/mail/mailboxes/aliases.ts";
import { aheadOfChange } from "../../../shared/mail/mailboxes/change.ts";
import { MailboxParams, readdressedInPath } from "../../../shared/mail/mailboxes/find.ts";
import { Alias } from "../../../shared/mail/mailboxes/mailbox.ts";
import { planRequired } from "../../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "mailboxes.aliases.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/{mailbox}/aliases", status: 201 },
  summary: "Create an alias",
  synonyms: [
    "second address",
    "same person",
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
    "Adds another address to the mailbox, in the mailbox's own domain. The mailbox's user can log in with the alias and send from it. A catch-all is not a user name. Its mailbox can send from every address of the domain that no mailbox has. A mailbox has 30 aliases at most, and a domain has one catch-all at most. You need `mailbox.update` on the domain, its workspace or the account. A grant on the mailbox alone is not enough.",
  capability: "mailbox.update",
  subject: readdressedInPath,
  access: "write",
  requires: planRequired,
  params: MailboxParams,
  body: z
    .strictObject({
      alias: AliasText,
      is_catch_all: z.boolean().optional().meta({
        description:
          "Whether the alias is the domain's catch-all: true for the alias `*`, false for every other alias.",
      }),
    })
    .superRefine((body, context) => {
      const message = catchAllFault(body);
      if (message !== undefined) context.addIssue({ code: "custom", path: ["is_catch_all"], message });
    })
    .meta({ id: "MailboxAliasCreate", description: "A new alias." }),
  output: Alias,
  problems: ["address_taken", "domain_not_ready", "limit_reached"],
  ahead: ({ params }, expected) => aheadOfChange(expected, params.account_id, params.mailbox),
  run: ({ body, found }, context) => addAlias(found, body.alias, context),
});

export const handler = http(route);
