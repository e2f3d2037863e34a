import * as z from "zod";

import { AccountResponse } from "../../shared/accounts/account.ts";
import { visibleAccounts } from "../../shared/accounts/visible.ts";
import { Id } from "../../shared/core/ids.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "accounts.list",
  method: "GET",
  path: "/v1/public/accounts",
  summary: "List the accounts you can see",
  description:
    "The accounts in which the caller holds anything at all, oldest membership first. A service account sees its own account; a super admin sees all, oldest first.",
  capability: null,
  open: "Everybody may ask; the answer holds only what the caller can see.",
  access: "read",
  query: z.strictObject({
    client_id: Id.optional().meta({ description: "Only accounts of this client." }),
    status: z
      .string()
      .optional()
      .meta({ description: "Only accounts in this status; one that there is not finds none." }),
    ...pageQuery,
  }),
  output: pageOf(AccountResponse, "accounts").meta({ id: "AccountListResponse", description: "A page of accounts." }),
  run: async ({ query: { page, page_size, ...filter } }, { table, principal }) => {
    const found = await visibleAccounts(table, principal, filter, { page, page_size });
    return { ...found, page, page_size };
  },
});

export const handler = http(route);
