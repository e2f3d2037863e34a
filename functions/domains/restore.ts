import { restoreDomain } from "../../shared/deletion/restore.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams, aheadOfDomainOnce } from "../../shared/domains/find.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.restore",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/restore" },
  summary: "Restore a deleted domain",
  synonyms: ["undo", "undelete", "recover", "get back", "mistake", "bring back", "releasing"],
  description:
    "Gets back a `releasing` domain, with its records, rules, passwords and grants. This works until the domain's `deletes_at`. The domain does not return to its dedicated IP: assign the domain again. While the domain's former zone is being removed, the call fails with `domain_not_ready`: try again in a minute. The restored domain is `pending_delegation`. It is `active` once its name is proved again, by its delegation or its TXT record. A name that was purchased here stays registered. If its registration has ended, this call fails with `domain_not_ready`: get the domain back with `domains.purchase`, or with `domains.add` if you registered the name elsewhere. With a connected name, your account becomes the holder of the name again. If another account has added the name meanwhile, the conditions of `domains.add` decide whether you get it. Otherwise the call fails with `domain_taken`.",
  capability: "domain.delete",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  limit: "search",
  params: DomainParams,
  output: Domain,
  problems: ["domain_not_ready", "domain_taken"],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: ({ found }, context) => restoreDomain(found, context, resolverHere()),
});

export const handler = http(route);
