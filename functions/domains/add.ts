import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { Id } from "../../shared/core/ids.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { Domain } from "../../shared/domains/domain.ts";
import { NewDomainName } from "../../shared/domains/registrable.ts";
import { addDomain } from "../../shared/domains/setup/add.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { workspaceInBody } from "../../shared/workspaces/workspace.ts";

export const route = defineRoute({
  name: "domains.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/domains",
  summary: "Connect a domain one already owns",
  description:
    "Delegate it to the `nameservers` of the answer at its registrar: it is active once the parent zone says so, which is looked for now and then, and at once by `domains.verify`. A domain of the account that lost this name to another account is given back with all it had, once nobody has the name, or once it is delegated to these nameservers and the other account has not proved it.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  limit: "search",
  params: AccountParams,
  body: z
    .strictObject({
      name: NewDomainName,
      workspace_id: Id.meta({ description: "The workspace it comes into." }),
    })
    .meta({ id: "DomainCreate", description: "A domain to connect." }),
  status: 201,
  location: "/v1/public/accounts/{account_id}/domains/{name}",
  output: Domain,
  problems: ["domain_exists", "domain_taken", "domain_not_ready"],
  run: ({ params, body: { name, workspace_id } }, context) =>
    addDomain(params.account_id, { name, workspaceId: workspace_id }, context, resolverHere()),
});

export const handler = http(route);
