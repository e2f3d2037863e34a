import { accountKey, AccountParams } from "../../../shared/accounts/account.ts";
import {
  aheadOfSettings,
  AutoRecharge,
  AutoRechargeUpdate,
  updateAutoRecharge,
} from "../../../shared/billing/recharges/auto-recharge.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { aheadOfCurrency } from "../../../shared/wallet/wallet.ts";

export const route = defineRoute({
  name: "billing.auto_recharge.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/billing/auto-recharge" },
  summary: "Change the automatic recharges",
  synonyms: ["auto recharge", "automatic top-up", "auto top up", "refill", "reload", "turn on", "turn off", "cap"],
  description:
    "Members of the body that you leave out stay as they are. At first, `threshold` is 10.00, `amount` 25.00, `monthly_cap` 100.00 and `max_per_month` 4. To switch automatic recharges on, save a card first (409 `payment_method_required`). The saved card is then charged in two cases: less than `threshold` is left in the wallet, or the wallet has too little for an open invoice or for a payment that was taken back. A recharge takes `amount`, or more if the open invoices and the payments that were taken back need more. If the larger sum would exceed `monthly_cap`, the recharge takes `amount`, but only if this pays an open invoice or a part of a payment that was taken back. Otherwise nothing is charged. No recharge exceeds `monthly_cap` or `max_per_month`. A failed charge is tried again after 1, 3 and 5 days. If these charges fail too, automatic recharges are switched off. At most four charges are tried on a day (UTC), and switching off and on does not make the next try earlier.",
  capability: "billing.manage",
  access: "write",
  limit: "outbound",
  whileSuspended: true,
  params: AccountParams,
  body: AutoRechargeUpdate,
  output: AutoRecharge,
  problems: ["payment_method_required"],
  // The account is listed three times, because it is read by the authorization, by the update and by its plan. A key
  // in `keys` serves one read.
  ahead: ({ params: { account_id: id } }) => ({
    keys: [...aheadOfSettings(id).keys, accountKey(id), ...aheadOfCurrency(id)],
  }),
  run: ({ params, body }, context) => updateAutoRecharge(params.account_id, body, context),
});

export const handler = http(route);
