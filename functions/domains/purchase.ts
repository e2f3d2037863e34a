import { AccountParams } from "../../shared/accounts/account.ts";
import { paymentsHere } from "../../shared/billing/services.ts";
import { Purchase, PurchaseAnswer } from "../../shared/domains/purchase/purchase-view.ts";
import { purchaseDomains } from "../../shared/domains/purchase/purchase.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInBody } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.purchase",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/domains/purchase",
  summary: "Purchase domains",
  description:
    "Registers names for a year, paid from the wallet: the price is held, paid when the registry has the name, and free again if it refuses. Names that the wallet does not cover are not held: the purchase goes on with them once `payment_url` is paid. Registration takes a while: `domains.get` shows how it stands, and events tell. Cut off and sent again with its `Idempotency-Key`, a purchase finds what it has bought, whatever became of that since, and does the rest. Without a key it is another purchase: names that the account has, or is buying, are `domain_exists`.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  resumes: true,
  uses: ["registrar", "payments"],
  limit: "outbound",
  params: AccountParams,
  body: Purchase,
  output: PurchaseAnswer,
  problems: ["quote_changed", "upstream_unavailable"],
  run: ({ params, body }, context) =>
    purchaseDomains(params.account_id, body, context, { registrar: registrarHere(), checkouts: paymentsHere }),
});

export const handler = http(route);
