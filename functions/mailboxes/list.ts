import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { listMailboxes, mailboxQuery } from "../../shared/mail/mailboxes/list.ts";
import { Mailbox } from "../../shared/mail/mailboxes/mailbox.ts";

export const route = defineRoute({
  name: "mailboxes.list",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/mailboxes",
  summary: "List mailboxes",
  description:
    "The mailboxes the caller may see, oldest first; of a workspace, and for who sees only some, domain by domain.",
  capability: "mailbox.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...mailboxQuery }),
  output: pageOf(Mailbox, "mailboxes").meta({ id: "MailboxListResponse", description: "A page of mailboxes." }),
  run: async ({ params, query }, context) => {
    const { page, page_size } = query;
    return { ...(await listMailboxes(params.account_id, query, context)), page, page_size };
  },
});

export const handler = http(route);
