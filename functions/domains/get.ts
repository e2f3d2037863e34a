import { domainKind } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { domainDetail, DomainDetail, aheadOfDetail } from "../../shared/domains/setup/detail.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains/{domain}", etag: domainKind },
  summary: "Read a domain",
  synonyms: ["show", "details", "status", "expiry", "settings"],
  description: "Returns the domain with its DNS records and mailboxes, the first 100 of each.",
  capability: "domain.view",
  subject: domainInPath,
  access: "read",
  usesPermissions: true,
  params: DomainParams,
  output: DomainDetail,
  ahead: ({ params }, expected) => aheadOfDetail(params.account_id, params.domain, expected),
  run: ({ found }, context) => domainDetail(found, context),
});

export const handler = http(route);
