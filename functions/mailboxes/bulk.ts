import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { domainInBody } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { BulkAnswer, BulkItem, addMailboxes } from "../../shared/mail/mailboxes/bulk.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";
import { planRequired } from "../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "mailboxes.bulk",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/mailboxes/bulk" },
  summary: "Create mailboxes in bulk",
  synonyms: ["many", "several", "multiple", "at once", "mass", "email addresses", "inboxes", "users"],
  description:
    "Creates up to 100 mailboxes of one domain. An item that cannot be created is in `failed` with its reason, and the other items are created. After 18 seconds the request creates no more mailboxes. The request also stops if the domain no longer takes new addresses. In both cases the remaining items are in `failed` with the code `not_attempted`. Send these items again in a new request. If you get no answer, or a 503, some or all of the mailboxes may exist. If your request had an `Idempotency-Key`, repeat it with the same key. The repeat creates the rest and answers for all items. If your request had no key, send it again too. An address that the first request created then fails with `address_taken`. `mailboxes.list` with the `domain` also shows which mailboxes exist. `mailboxes.reveal_credentials` shows each password once.",
  capability: "mailbox.create",
  subject: domainInBody,
  access: "write",
  requires: planRequired,
  resumes: true,
  lambda: { heavy: true, uses: ["secrets"] },
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
