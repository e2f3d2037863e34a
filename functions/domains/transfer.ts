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
    "Transfers names from other registrars, with a further year each, paid from the wallet. The price of a name is held, captured when the transfer is complete, and voided if the transfer fails. If the wallet does not cover all names, no price is held, and the transfers begin once `payment_url` is paid. A transfer takes up to five days, in which the present registrar can refuse it: follow it with `domains.get` or with the events `domain.transferred` and `domain.transfer_failed`. If the account has already connected the name, the domain keeps its status and its mail during the transfer. Send the request with an `Idempotency-Key`: if it is cut off, send it again.",
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
