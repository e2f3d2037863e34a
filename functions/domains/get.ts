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
  description:
    "Returns the domain with up to 100 of its DNS records and up to 100 of its mailboxes, if you can see them.",
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
