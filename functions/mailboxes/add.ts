import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { domainInBody } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { addMailbox, aheadOfNewMailbox } from "../../shared/mail/mailboxes/add.ts";
import { LocalPart } from "../../shared/mail/mailboxes/local-part.ts";
import { Mailbox, personName } from "../../shared/mail/mailboxes/mailbox.ts";
import { QuotaAllowed } from "../../shared/mail/mailboxes/quota.ts";
import { loginWork } from "../../shared/mail/mailboxes/services.ts";
import { planRequired } from "../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "mailboxes.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/mailboxes",
    status: 201,
    location: "/v1/public/accounts/{account_id}/mailboxes/{id}",
  },
  summary: "Create a mailbox",
  synonyms: ["new", "set up", "email address", "inbox", "user", "employee", "colleague", "person", "account"],
  description:
    "Creates a mailbox in a domain that is `active`, `degraded` or `pending_delegation`. The service generates the password. `mailboxes.reveal_credentials` shows it once. Without `quota_allowed` the mailbox may use 10 GiB.",
  capability: "mailbox.create",
  subject: domainInBody,
  access: "write",
  requires: planRequired,
  lambda: { uses: ["secrets"] },
  params: AccountParams,
  body: z
    .strictObject({
      domain: DomainRef,
      local_part: LocalPart,
      first_name: personName("The given name of the mailbox's user."),
      last_name: personName("The family name of the mailbox's user."),
      quota_allowed: QuotaAllowed.optional(),
    })
    .meta({ id: "MailboxCreate", description: "A new mailbox." }),
  output: Mailbox,
  problems: ["address_taken", "domain_not_ready", "upstream_unavailable"],
  ahead: ({ params, body }, expected) => aheadOfNewMailbox(params.account_id, body, expected),
  run: ({ body: { domain: _, ...person }, found }, context) => addMailbox(found, person, context, loginWork()),
});

export const handler = http(route);
