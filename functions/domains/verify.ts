import { resolverHere } from "../../shared/dns/services.ts";
import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../shared/domains/find.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { Verification, verifyDomain } from "../../shared/domains/setup/verify.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";

export const route = defineRoute({
  name: "domains.verify",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/verify" },
  summary: "Verify a name by its delegation or its TXT record",
  synonyms: ["check", "nameservers", "switched", "connected", "pointed", "active", "pending", "prove", "own"],
  description:
    "A hosted domain becomes `active` and gets its system records if the parent zone delegates it to its `nameservers`, and to no others. An external domain becomes `active` if its TXT record is in the public DNS. Mail can be sent from an external domain once its SPF and DKIM records are right too.",
  capability: "domain.update",
  subject: domainInPath,
  access: "write",
  lambda: { uses: ["secrets", "dns"] },
  limit: "outbound",
  params: DomainParams,
  output: Verification,
  problems: ["domain_not_ready"],
  // Reads ahead for `found` only. After the look-ups in the DNS, `run` has to read the domain again.
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: async ({ found }, context) => {
    const verification = await verifyDomain(found, context, { resolver: resolverHere(), secrets: secretsHere() });
    if (verification.verified && found.dns_mode === "hosted") await syncNow(found, context);
    return verification;
  },
});

export const handler = http(route);
