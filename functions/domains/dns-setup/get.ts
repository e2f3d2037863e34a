import { resolverHere } from "../../../shared/dns/services.ts";
import { domainInPath, DomainParams } from "../../../shared/domains/find.ts";
import { aheadOfDnsSetup, DnsSetup, dnsSetup } from "../../../shared/domains/health/dns-setup.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.dns_setup.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/domains/{domain}/dns-setup" },
  summary: "List the records to publish",
  synonyms: [
    "own DNS",
    "external",
    "Cloudflare",
    "what to add",
    "nameservers",
    "TXT",
    "MX",
    "SPF",
    "DKIM",
    "DMARC",
    "instructions",
    "set up",
    "point",
    "switch",
  ],
  description:
    "Lists the records of the domain's mail. Each record has the value to publish, and the value that the public DNS has now. Mail depends on the records with `required`. The other records add features, such as the automatic setup of mail programs. You can call this before the domain is proved, and publish the records before mail moves here. At the DNS host of an external domain, publish the records yourself. For a hosted domain, set only the two nameservers. Our nameservers publish the other records.",
  capability: "domain.view",
  subject: domainInPath,
  access: "read",
  limit: "outbound",
  params: DomainParams,
  output: DnsSetup,
  ahead: ({ params }, expected) => aheadOfDnsSetup(params.account_id, params.domain, expected),
  run: ({ found }, { table, now }) => dnsSetup(found, { table, resolver: resolverHere(), now: now() }),
});

export const handler = http(route);
