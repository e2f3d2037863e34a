import { AccountParams } from "../../shared/accounts/account.ts";
import { paymentsHere } from "../../shared/billing/services.ts";
import { requireFeature } from "../../shared/core/features.ts";
import { purchaseDomains } from "../../shared/domains/purchase/purchase.ts";
import { PurchaseAnswer, PurchaseRequest } from "../../shared/domains/purchase/requests.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInBody } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.purchase",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/purchase" },
  summary: "Purchase domains",
  synonyms: ["buy", "register", "order", "new", "web address", "website", "get"],
  description:
    "Registers names for a year, paid from the wallet. The price of a name, with VAT, is held, captured when the registry has registered the name, and voided if the registry refuses it. The names are renewed automatically each year. To stop this, set `auto_renew` to false with `domains.update`. If the wallet does not cover all names, no price is held, and the purchase continues once `payment_url` is paid. A name that costs more by then is not bought, and its money stays in the wallet. The event `domain_purchase.continued` has the results. Registration takes a while. Follow it with `domains.get` or with events. If your account has a domain of this name whose purchase failed, the purchase replaces that domain. If your account still has the domain of this name after its registration was lost, the purchase registers the name for that domain again, moves the domain to the workspace of the purchase, and sets `dns_mode` to `hosted`. In both cases you need `domain.delete` on the domain. To move the domain, you also need `domain.move`. Without these, the name fails with `domain_exists`. If a purchase is cut off, send it again with the same `Idempotency-Key`. The repeat finds the names that the first request has bought, even if their domains were deleted since, and buys the rest. Without a key the same request is another purchase. Names that the account has or is buying then fail with `domain_exists`.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  usesPermissions: true,
  resumes: true,
  lambda: { uses: ["registrar", "payments"] },
  limit: "outbound",
  params: AccountParams,
  body: PurchaseRequest,
  output: PurchaseAnswer,
  problems: [
    "dns_unavailable",
    "other_currency",
    "payments_unavailable",
    "quote_changed",
    "registrar_unavailable",
    "upstream_unavailable",
  ],
  run: ({ params, body }, context) => {
    requireFeature("registrar");
    requireFeature("dns");
    return purchaseDomains(params.account_id, body, context, { registrar: registrarHere(), checkouts: paymentsHere });
  },
});

export const handler = http(route);
