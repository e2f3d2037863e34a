import { AccountParams } from "../../shared/accounts/account.ts";
import { paymentsHere } from "../../shared/billing/services.ts";
import { requireFeature } from "../../shared/core/features.ts";
import { TransferAnswer, TransferRequest } from "../../shared/domains/purchase/requests.ts";
import { transferDomains } from "../../shared/domains/purchase/transfer.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";
import { workspaceInBody } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.transfer",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/transfer" },
  summary: "Transfer domains in",
  synonyms: ["move", "name", "registrar", "auth code", "EPP", "bring", "migrate", "switch"],
  description:
    "Transfers names from other registrars. Each transfer adds a year to the registration, paid from the wallet. First connect each name with `domains.add`, and import its records with `dns_records.import`. The domain then keeps its records, its status and its mail during the transfer. A name that is not connected gets a new domain, which has only the records of our mail. If this domain has the `dns_mode` `hosted`, the website and the former mail of the name stop after the transfer. Before a transfer with `hosted`, remove the DS records (DNSSEC) at the present registrar. Otherwise resolvers refuse the name. The price of a name, with VAT, is held, captured when the transfer is complete, and voided if the transfer fails. If the wallet does not cover all names, no price is held, and the transfers begin once `payment_url` is paid. This call sets `auto_renew` to true. `domains.update` switches it off. A transfer takes up to five days. In this time the present registrar can refuse the transfer. Follow the transfer with `domains.get` or with the events `domain.transferred` and `domain.transfer_failed`. Send the request with an `Idempotency-Key`. If the request is cut off, send it again with this key.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  usesPermissions: true,
  resumes: true,
  lambda: { uses: ["registrar", "payments", "secrets"] },
  limit: "outbound",
  params: AccountParams,
  body: TransferRequest,
  output: TransferAnswer,
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
    return transferDomains(params.account_id, body, context, {
      registrar: registrarHere(),
      secrets: secretsHere(),
      checkouts: paymentsHere,
    });
  },
});

export const handler = http(route);
