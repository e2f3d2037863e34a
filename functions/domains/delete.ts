import * as z from "zod";

import { Problem } from "../../shared/core/errors.ts";
import { advanceRelease, beginRelease } from "../../shared/deletion/domain.ts";
import { domainKind } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams, aheadOfDomain } from "../../shared/domains/find.ts";
import { dnsHere, registrarHere } from "../../shared/domains/setup/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";

/**
 * The longest time for which a request deletes the contents of a domain, in milliseconds. The worker deletes the rest.
 */
const budgetMs = 5_000;

export const route = defineRoute({
  name: "domains.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/domains/{domain}", etag: domainKind },
  summary: "Delete or release a domain",
  synonyms: ["remove", "cancel", "give up", "get rid of", "drop", "purge", "for good"],
  description:
    "Deletes an empty domain. Its mail and its zone stop at once. A domain whose name was purchased here, or was ever verified, is `releasing` for 5 days: until `deletes_at` it keeps its records, rules and passwords, and `domains.restore` gets it back. After `deletes_at` the domain is gone, and a purchased name is given up: others can register it. Nothing is refunded. A domain that was neither purchased here nor ever verified is deleted at once. If the domain is already `releasing`, another deletion changes nothing. With `purge=true` a domain is deleted at once and for good, even while it is `releasing`. If the domain has many deleted mailboxes, it stays `releasing` for some minutes, until all of them are purged.",
  capability: "domain.delete",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["registrar", "dns"] },
  params: DomainParams,
  query: z.strictObject({
    release: z.boolean().default(false).meta({
      description: "Whether to give up the name. A domain whose name was purchased here is deleted only with true.",
    }),
    purge: z.boolean().default(false).meta({
      description:
        "Whether to delete the domain at once and for good, without the 5 days in which it can be restored. A purchased name also needs `release`.",
    }),
  }),
  output: Empty,
  problems: ["domain_not_empty", "domain_not_ready", "registrar_unavailable", "release_required"],
  ahead: ({ params }, expected) => aheadOfDomain(expected, params.account_id, params.domain),
  run: async ({ query, found }, context) => {
    const domain = await beginRelease(found, query, context);
    try {
      await advanceRelease(domain, context, { dns: dnsHere(), registrar: registrarHere(), budgetMs });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503) throw error;
      context.log.info("release left to the worker", { domain_id: found.id, reason: error.message });
    }
    return {};
  },
});

export const handler = http(route);
