import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../../shared/domains/find.ts";
import { Registrant, RegistrantUpdate, updateRegistrant } from "../../../shared/domains/registration/registrant.ts";
import { registrarHere } from "../../../shared/domains/setup/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.contact.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/domains/{domain}/contact" },
  summary: "Change the contact of a domain",
  synonyms: ["owner", "registrant", "whois", "address", "holder", "edit", "move house", "correct"],
  description:
    "Changes the contact at the registrar, for a name that was purchased here. Members that you leave out stay as they are. Null removes `organization`, `address_2`, `state` or `zip`. The change takes a while: `domains.contact.get` shows its result in `change`. The registry may write to the new e-mail address, and suspend the name if nobody confirms. While a change runs, another change fails with `domain_not_ready`.",
  capability: "domain.purchase",
  subject: domainInPath,
  access: "write",
  lambda: { uses: ["registrar"] },
  resumes: true,
  limit: "outbound",
  params: DomainParams,
  body: RegistrantUpdate,
  output: Registrant,
  problems: ["domain_not_ready", "not_registered_here", "registrar_unavailable", "upstream_unavailable"],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: ({ body, found }, context) => updateRegistrant(found, body, context, registrarHere()),
});

export const handler = http(route);
