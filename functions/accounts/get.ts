import { AccountParams, AccountResponse } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "accounts.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}",
  summary: "Get an account",
  description: "Structural detail of one account. Every member of an account sees it, whatever else they hold in it.",
  capability: "account.view",
  access: "read",
  params: AccountParams,
  output: AccountResponse,
  run: ({ params }, { table }) => getAccount(table, params.account_id),
});

export const handler = http(route);
