import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../shared/domains/find.ts";
import { Renew, RenewAnswer, renewDomain } from "../../shared/domains/renewal/renew.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.renew",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/renew" },
  summary: "Renew a domain",
  synonyms: ["extend", "prolong", "expire", "keep", "years", "restore", "redemption"],
  description:
    "Adds years to the registration of a domain that was purchased here. You can renew the domain at any time until `redemption_ends_at`. The price is held in the wallet, captured when the registry has renewed the name, and voided if the registry refuses. Send an `Idempotency-Key`: without one, a repeated call can renew the name twice. A name in redemption also costs its restoration. The renewal takes a while: `renewal` has its result, and so have the events `domain.renewed` and `domain.renewal_failed`.",
  capability: "domain.purchase",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["registrar"] },
  limit: "outbound",
  params: DomainParams,
  body: Renew,
  output: RenewAnswer,
  problems: [
    "domain_not_ready",
    "insufficient_funds",
    "not_registered_here",
    "other_currency",
    "quote_changed",
    "registrar_unavailable",
    "renewal_running",
    "too_many_years",
    "upstream_unavailable",
  ],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: ({ body, found }, context) => renewDomain(found, body, context, registrarHere()),
});

export const handler = http(route);
