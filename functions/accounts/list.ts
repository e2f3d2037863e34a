import * as z from "zod";

import { AccountResponse } from "../../shared/accounts/account.ts";
import { visibleAccounts } from "../../shared/accounts/visible.ts";
import { Id } from "../../shared/core/ids.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "accounts.list",
  http: { method: "GET", path: "/v1/public/accounts" },
  summary: "List the accounts you can see",
  synonyms: ["my", "companies", "organizations", "customers", "tenants", "which"],
  description:
    "The accounts of which you are a member, oldest membership first. Then come the accounts that you can see only through the groups in your token, in the order of their ids. A service account sees only its own account. A super admin sees all accounts, oldest first, or with a filter by `status` in the order in which they got this status.",
  capability: null,
  open: "Every caller may ask. The answer has only the accounts that the caller can see.",
  access: "read",
  query: z.strictObject({
    client_id: Id.optional().meta({ description: "Only accounts of this client." }),
    status: z
      .string()
      .optional()
      .meta({ description: "Only accounts in this status. A status that does not exist matches no account." }),
    ...pageQuery,
  }),
  output: pageOf(AccountResponse, "accounts").meta({ id: "AccountListResponse", description: "A page of accounts." }),
  run: async ({ query: { page, page_size, ...filter } }, { table, principal, now }) => {
    const visible = await visibleAccounts(table, principal, filter, { page, page_size }, now());
    return { ...visible, page, page_size };
  },
});

export const handler = http(route);
