import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfMailboxes, listMailboxes, mailboxOrder, mailboxQuery } from "../../shared/mail/mailboxes/list.ts";
import { Mailbox } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes" },
  summary: "List mailboxes",
  synonyms: ["mailboxes", "email addresses", "inboxes", "users", "people", "accounts", "show", "all"],
  description:
    "Lists the mailboxes that you may see, oldest first unless you sort them. The mailboxes are grouped by domain if you filter by workspace, or if you may see only a part of the account. In these two cases the list covers 2,000 domains at most. If you may not see all mailboxes of the account, workspace or domain that you list, `search`, `status` and `sort` look at 20,000 mailboxes at most. Beyond these limits the answer is 422. Give a `domain` then.",
  capability: "mailbox.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...mailboxQuery, ...mailboxOrder }),
  output: pageOf(Mailbox, "mailboxes").meta({ id: "MailboxListResponse", description: "A page of mailboxes." }),
  ahead: ({ params, query }, expected) => aheadOfMailboxes(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({
    ...(await listMailboxes(params.account_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
