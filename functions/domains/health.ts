import { resolverHere } from "../../shared/dns/services.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { Health, healthOf } from "../../shared/domains/setup/health.ts";
import { expectedRecords } from "../../shared/domains/setup/mail-checks.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.health",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/domains/{domain}/health",
  summary: "Health diagnostics",
  description:
    "Asks the public DNS, from the root servers on, for what the domain's mail stands on. Each check says what should be there, what is, and which record to add.",
  capability: "domain.view",
  subject: domainInPath,
  access: "read",
  limit: "outbound",
  params: DomainParams,
  output: Health,
  run: async ({ found }, { table, now }) => healthOf(found, await expectedRecords(table, found), resolverHere(), now()),
});

export const handler = http(route);
