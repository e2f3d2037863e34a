import { resolverHere } from "../../shared/dns/services.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { Health, healthOf } from "../../shared/domains/health/health.ts";
import { aheadOfHealth, expectedRecords } from "../../shared/domains/health/mail-checks.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.health",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains/{domain}/health" },
  summary: "Health diagnostics",
  synonyms: [
    "spam",
    "junk",
    "not arriving",
    "bounce",
    "problem",
    "broken",
    "not working",
    "deliverability",
    "SPF",
    "DKIM",
    "DMARC",
    "MX",
    "check",
  ],
  description:
    "Checks everything that the domain's mail needs in the public DNS, from the root servers down, and fetches its MTA-STS policy. Each check has the expected value, the value that was found, and the record to add.",
  capability: "domain.view",
  subject: domainInPath,
  access: "read",
  limit: "outbound",
  params: DomainParams,
  output: Health,
  ahead: ({ params }, expected) => aheadOfHealth(params.account_id, params.domain, expected),
  run: async ({ found }, { table, now }) => {
    const expected = await expectedRecords(table, found);
    return healthOf(found, expected, { resolver: resolverHere(), now: now() });
  },
});

export const handler = http(route);
