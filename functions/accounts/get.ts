import { AccountParams, AccountResponse, accountKey } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "accounts.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}" },
  summary: "Get an account",
  synonyms: ["company", "organization", "customer", "details", "status", "suspended"],
  description: "Returns one account. Every member of the account may read it, whatever other capabilities they hold.",
  capability: "account.view",
  access: "read",
  params: AccountParams,
  output: AccountResponse,
  ahead: ({ params }) => ({ keys: [accountKey(params.account_id)] }),
  run: ({ params }, { table }) => getAccount(table, params.account_id),
});

export const handler = http(route);
