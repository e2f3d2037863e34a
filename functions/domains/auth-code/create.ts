import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../../shared/domains/find.ts";
import { AuthCode, createAuthCode } from "../../../shared/domains/registration/auth-code.ts";
import { registrarHere } from "../../../shared/domains/setup/services.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.auth_code.create",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/auth-code" },
  summary: "Get the auth code of a domain",
  synonyms: ["transfer", "transfer out", "EPP", "authorization", "leave", "move away", "other registrar", "provider"],
  description:
    "Returns the code with which another registrar transfers a name that was purchased here. First unlock the name: `domains.update` with `locked: false`. A name cannot be transferred in the first 60 days after its registration or its last transfer. The code is a secret: it is in this answer only, and the audit log records that it was shown.",
  capability: "domain.purchase",
  subject: domainInPath,
  access: "write",
  lambda: { uses: ["registrar"] },
  shownOnce: ["auth_code"],
  limit: "sensitive",
  params: DomainParams,
  output: AuthCode,
  problems: [
    "domain_not_ready",
    "not_registered_here",
    "transfer_locked",
    "transfer_too_soon",
    "registrar_unavailable",
    "upstream_unavailable",
  ],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: ({ found }, context) => createAuthCode(found, context, registrarHere()),
});

export const handler = http(route);
