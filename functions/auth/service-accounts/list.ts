import * as z from "zod";

import { ServiceAccount, listServiceAccounts, aheadOfServiceAccounts } from "../../../shared/access/service-account.ts";
import { AccountParams } from "../../../shared/accounts/account.ts";
import { requireAnswerable } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "auth.service_accounts.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/auth/service-accounts" },
  summary: "List service accounts",
  synonyms: ["API keys", "tokens", "robots", "bots", "integrations", "show"],
  description:
    "All service accounts of the account, oldest first, including service accounts that were revoked in the last 400 days. If the service accounts are too large for an answer, the answer is a 422 (`too_many`). In this case, call `auth.members.list`. It lists the service accounts that have access, in pages.",
  capability: "auth.manage",
  access: "read",
  params: AccountParams,
  output: z.array(ServiceAccount).meta({ description: "The service accounts." }),
  ahead: ({ params }) => aheadOfServiceAccounts(params.account_id),
  run: async ({ params }, context) =>
    requireAnswerable(await listServiceAccounts(params.account_id, context), {
      noun: "service accounts",
      remedy: "`auth.members.list` lists the service accounts with access, in pages",
    }),
});

export const handler = http(route);
