import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../../shared/domains/find.ts";
import { readRegistrant, Registrant } from "../../../shared/domains/registration/registrant.ts";
import { registrarHere } from "../../../shared/domains/setup/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.contact.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains/{domain}/contact" },
  summary: "Read the contact of a domain",
  synonyms: ["owner", "registrant", "whois", "address", "holder", "show", "details"],
  description:
    "Asks the registrar for the contact of a name that was purchased here: the person or company for whom the name is registered. You need the capability to purchase domains, because the contact is personal data.",
  capability: "domain.purchase",
  subject: domainInPath,
  access: "read",
  lambda: { uses: ["registrar"] },
  limit: "search",
  params: DomainParams,
  output: Registrant,
  problems: ["domain_not_ready", "not_registered_here", "registrar_unavailable", "upstream_unavailable"],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: ({ found }, context) => readRegistrant(found, context, registrarHere()),
});

export const handler = http(route);
