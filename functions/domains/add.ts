import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { Id } from "../../shared/core/ids.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { DnsMode, Domain } from "../../shared/domains/domain.ts";
import { NewDomainName } from "../../shared/domains/registrable.ts";
import { addDomain, aheadOfNewDomain } from "../../shared/domains/setup/add.ts";
import { makeDkimNow } from "../../shared/domains/setup/dkim-now.ts";
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
    "Connects a name that is registered elsewhere. With `hosted`, import the domain's present records with `dns_records.import`. Then set the `nameservers` of the answer at the domain's registrar. Records that you do not import or add stop working. The domain is `active` once the parent zone delegates the domain to these nameservers. With `external`, publish the records of `domains.dns_setup.get` at your DNS host. The domain is `active` once its TXT record is there. We check the delegation or the TXT record from time to time, and `domains.verify` checks at once. If your account deleted a connected domain of this name, or lost the name, this call restores the domain with its contents. This works until the domain's `deletes_at`. The domain gets the workspace and the `dns_mode` of this call. You need `domain.delete` on the domain, and also `domain.move` for another workspace. Without these, the call fails with `domain_exists`. If you deleted a domain whose name is still registered here, call `domains.restore`. If another account has the name, the call fails with `domain_taken`. The error has `nameservers`, `txt_name` and `txt_value`. If the other account has not proved the name, or its proof has been gone for about six days, you can get the name: delegate it to these nameservers or publish this TXT record, and call again.",
  capability: "domain.purchase",
  subject: workspaceInBody,
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["secrets"] },
  limit: "search",
  params: AccountParams,
  body: z
    .strictObject({
      name: NewDomainName,
      workspace_id: Id.meta({ description: "The workspace for the domain." }),
      dns_mode: DnsMode.default("hosted").meta({
        description: "`hosted` to delegate the domain to our nameservers, `external` to keep its DNS where it is.",
      }),
    })
    .meta({ id: "DomainCreate", description: "A domain to connect." }),
  output: Domain,
  problems: ["dns_unavailable", "domain_exists", "domain_taken", "domain_not_ready", "zone_conflict"],
  ahead: ({ params, body }) => aheadOfNewDomain(params.account_id, body.name, body.workspace_id, body.dns_mode),
  run: async ({ params, body: { name, workspace_id, dns_mode } }, context) => {
    const given = { name, workspaceId: workspace_id, dnsMode: dns_mode };
    const domain = await addDomain(params.account_id, given, context, resolverHere());
    await makeDkimNow(params.account_id, domain, context);
    return domain;
  },
});

export const handler = http(route);
