import { domainKind } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { domainDetail, DomainDetail } from "../../shared/domains/setup/detail.ts";
import { DomainSettings, setDomain } from "../../shared/domains/setup/settings.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.update",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/domains/{domain}",
  summary: "Update a domain's settings",
  description: "What is not given stays as it is. The DMARC record follows its two settings.",
  capability: "domain.update",
  subject: domainInPath,
  etag: domainKind,
  access: "write",
  uses: ["dns"],
  params: DomainParams,
  body: DomainSettings,
  output: DomainDetail,
  problems: ["domain_not_ready", "upstream_unavailable"],
  run: async ({ body, found }, context) => {
    const after = await setDomain(found, body, context);
    await syncNow(after, context);
    return context.answer(await domainDetail(after, context));
  },
});

export const handler = http(route);
