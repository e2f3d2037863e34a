import { resolverHere } from "../../shared/dns/services.ts";
import { domainInPath, DomainParams, aheadOfDomain } from "../../shared/domains/find.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { Verification, verifyDomain } from "../../shared/domains/setup/verify.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";

export const route = defineRoute({
  name: "domains.verify",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/verify" },
  summary: "Verify nameserver delegation",
  synonyms: ["check", "nameservers", "switched", "connected", "pointed", "active", "pending", "prove", "own"],
  description:
    "Asks the parent zone for the domain's delegation. If the parent zone delegates the domain to its `nameservers`, and to no others, the domain becomes `active` and gets its system records.",
  capability: "domain.update",
  subject: domainInPath,
  access: "write",
  lambda: { uses: ["secrets", "dns"] },
  limit: "outbound",
  params: DomainParams,
  output: Verification,
  problems: ["domain_not_ready"],
  // Once, for `found`: what `run` reads after it has asked the parent zone has to be of that moment.
  ahead: ({ params }, expected) => ({
    keys: aheadOfDomain(expected, params.account_id, params.domain).keys.slice(0, 1),
  }),
  run: async ({ found }, context) => {
    const verification = await verifyDomain(found, context, { resolver: resolverHere(), secrets: secretsHere() });
    if (verification.verified) await syncNow(found, context);
    return verification;
  },
});

export const handler = http(route);
