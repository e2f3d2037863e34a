import { AccountParams } from "../../../shared/accounts/account.ts";
import { aheadOfBillingView } from "../../../shared/billing/book.ts";
import { walletBalance, WalletBalance } from "../../../shared/billing/views.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "billing.wallet_balance.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/billing/wallet-balance" },
  summary: "Get the wallet's balance",
  synonyms: ["money", "credit", "left", "remaining", "funds", "how much"],
  description:
    "The balance of the wallet, and the charges that it has not paid yet. Usage is recorded once a day, for the day before: the usage of today is not in these charges.",
  capability: "billing.view",
  access: "read",
  params: AccountParams,
  output: WalletBalance,
  ahead: ({ params }) => aheadOfBillingView(params.account_id),
  run: ({ params }, context) => walletBalance(params.account_id, context),
});

export const handler = http(route);
