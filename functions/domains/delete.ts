import { Problem } from "../../shared/core/errors.ts";
import { beginRelease, finishRelease } from "../../shared/deletion/domain.ts";
import { domainKind } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams, aheadOfDomain } from "../../shared/domains/find.ts";
import { dnsHere, registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/domains/{domain}", etag: domainKind },
  summary: "Delete or release a domain",
  synonyms: ["remove", "cancel", "give up", "get rid of", "drop"],
  description:
    "Deletes the domain's records and its zone. A registration that was purchased here is given up, and others can register the name. If a provider does not answer, the domain is `releasing` until the provider answers.",
  capability: "domain.delete",
  subject: domainInPath,
  access: "write",
  lambda: { uses: ["registrar", "dns"] },
  params: DomainParams,
  output: Empty,
  problems: ["domain_not_empty", "domain_not_ready"],
  ahead: ({ params }, expected) => aheadOfDomain(expected, params.account_id, params.domain),
  run: async ({ params, found }, context) => {
    await beginRelease(found, context);
    try {
      const services = { dns: dnsHere(), registrar: registrarHere() };
      await finishRelease(params.account_id, found.id, context, services);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503) throw error;
      context.log.info("release left to the worker", { domain_id: found.id, reason: error.message });
    }
    return {};
  },
});

export const handler = http(route);
