import { accountKey, AccountParams } from "../../../shared/accounts/account.ts";
import { paymentsHere } from "../../../shared/billing/services.ts";
import { requireFeature } from "../../../shared/core/features.ts";
import { minorUnits } from "../../../shared/core/money.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { createTopup, NewTopup, TopupSession } from "../../../shared/wallet/topup.ts";
import { aheadOfCurrency } from "../../../shared/wallet/wallet.ts";

export const route = defineRoute({
  name: "billing.topup_session.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/billing/topup-session" },
  summary: "Start to top up the wallet",
  synonyms: ["add money", "pay", "payment", "credit", "card", "deposit", "fund", "recharge", "buy"],
  description:
    "Returns the address of the payment provider's page. From there the payer comes to a page that shows the result, and then to your `return_url`. After the payment, the amount is in the wallet, and open invoices are paid from the wallet. An account that was suspended for its debts is active again as soon as all of them are paid.",
  capability: "billing.manage",
  access: "write",
  whileSuspended: true,
  lambda: { uses: ["payments"] },
  limit: "outbound",
  params: AccountParams,
  body: NewTopup,
  output: TopupSession,
  problems: ["payments_unavailable", "upstream_unavailable"],
  // The account is listed three times, because it is read by the authorization, by `openTopup` and by its plan. A key
  // in `keys` serves one read.
  ahead: ({ params: { account_id: id } }) => ({ keys: [accountKey(id), accountKey(id), ...aheadOfCurrency(id)] }),
  run: ({ params, body }, context) => {
    requireFeature("payments");
    const amount = minorUnits(body.amount) ?? 0;
    return createTopup(params.account_id, amount, context, paymentsHere(), body.return_url ?? undefined);
  },
});

export const handler = http(route);
