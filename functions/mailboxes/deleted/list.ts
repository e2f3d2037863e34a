import * as z from "zod";

import { AccountParams } from "../../../shared/accounts/account.ts";
import { orderQuery, pageOf, pageQuery } from "../../../shared/core/page.ts";
import { DomainRef } from "../../../shared/domains/name.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { aheadOfDeleted, DeletedMailbox, listDeleted } from "../../../shared/mail/mailboxes/deleted.ts";

export const route = defineRoute({
  name: "mailboxes.deleted.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/mailboxes/deleted" },
  summary: "List deleted mailboxes",
  synonyms: ["trash", "bin", "removed", "recover", "undo", "lost", "restore", "gone", "inbox", "email address"],
  description:
    "Lists the mailboxes that were deleted in the last 7 days and that you can restore. The mailbox that was deleted first comes first, unless you turn the order around. If the account has more than 20,000 deleted mailboxes, a list with a `domain` gets 422. If you see only a part of such an account, every list gets 422.",
  capability: "mailbox.delete",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject({
    ...pageQuery,
    domain: DomainRef.optional().meta({ description: "Only mailboxes of this domain, by its name or id." }),
    ...orderQuery("asc"),
  }),
  output: pageOf(DeletedMailbox, "deleted mailboxes").meta({
    id: "DeletedMailboxListResponse",
    description: "A page of deleted mailboxes.",
  }),
  ahead: ({ params, query }, expected) => aheadOfDeleted(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({ ...(await listDeleted(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
