import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { domainInBody } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { BulkAnswer, BulkItem, addMailboxes } from "../../shared/mail/mailboxes/bulk.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";

export const route = defineRoute({
  name: "mailboxes.bulk",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/mailboxes/bulk",
  summary: "Create mailboxes in bulk",
  description:
    "Up to 100 of one domain. What stands in the way of one is told of it alone, and the others are created. After 18 seconds no more are begun: those left are `not_attempted`, to be sent again. Where no answer arrives, or a 503, some or all may have been created: the same request with the same `Idempotency-Key` does the rest and answers for all. Without a key, send it again too: an address that it created is then `address_taken`, or look at `mailboxes.list` with the `domain`. Passwords are shown once by `mailboxes.reveal_credentials`.",
  capability: "mailbox.create",
  subject: domainInBody,
  access: "write",
  resumes: true,
  heavy: true,
  uses: ["secrets"],
  limit: "outbound",
  params: AccountParams,
  body: z
    .strictObject({
      domain: DomainRef,
      items: z.array(BulkItem).min(1).max(100).meta({ description: "The mailboxes, 1 to 100." }),
    })
    .meta({ id: "MailboxBulkCreate", description: "New mailboxes of one domain." }),
  output: BulkAnswer,
  problems: ["domain_not_ready", "upstream_unavailable"],
  run: ({ body, found }, context) => addMailboxes(found, body.items, context, loginWork()),
});

export const handler = http(route);
