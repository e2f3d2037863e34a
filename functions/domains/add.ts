import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { Id } from "../../shared/core/ids.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { NewDomainName } from "../../shared/domains/registrable.ts";
import { addDomain, aheadOfNewDomain } from "../../shared/domains/setup/add.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInBody } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/domains",
    status: 201,
    location: "/v1/public/accounts/{account_id}/domains/{name}",
  },
  summary: "Connect a domain you already own",
  synonyms: ["new", "use", "own", "bought elsewhere", "existing", "external", "website", "set up"],
  description:
    "Set the `nameservers` of the answer at the domain's registrar. The domain is `active` once the parent zone delegates the domain to these nameservers. We check the delegation from time to time, and `domains.verify` checks it at once. If your account lost this name to another account, this call gives you the domain back with everything it had. This is possible if no account has the name, or if the name is delegated to your nameservers and the other account has not proved that the name is theirs.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  limit: "search",
  params: AccountParams,
  body: z
    .strictObject({
      name: NewDomainName,
      workspace_id: Id.meta({ description: "The workspace for the domain." }),
    })
    .meta({ id: "DomainCreate", description: "A domain to connect." }),
  output: Domain,
  problems: ["domain_exists", "domain_taken", "domain_not_ready"],
  ahead: ({ params, body }) => aheadOfNewDomain(params.account_id, body.name, body.workspace_id),
  run: ({ params, body: { name, workspace_id } }, context) =>
    addDomain(params.account_id, { name, workspaceId: workspace_id }, context, resolverHere()),
});

export const handler = http(route);
