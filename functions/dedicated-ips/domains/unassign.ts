import { domainsBody, moveDomains, aheadOfMove } from "../../../shared/dedicated-ips/assign.ts";
import { DedicatedIpWithDomains } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { IpParams, ipNamed, ipToMove } from "../../../shared/dedicated-ips/find.ts";
import { requireRepeatable } from "../../../shared/dedicated-ips/moves.ts";
import { syncFirst } from "../../../shared/dedicated-ips/sweep.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.domains.unassign",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}/domains/unassign" },
  summary: "Unassign domains from the IP",
  synonyms: ["remove", "stop", "send", "from", "address", "disconnect"],
  description:
    "The domains' mail leaves from the shared addresses again. For a hosted domain, our nameservers publish the new SPF record. For an external domain, publish the new SPF value of `domains.dns_setup.get`. All domains are unassigned, or none. Domains that are not assigned to the dedicated IP are skipped. You need `ip.assign` on each domain. You also need it on the account, or on a domain that sends from the dedicated IP.",
  capability: "ip.assign",
  scope: "visible",
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["dns"] },
  resumes: true,
  params: IpParams,
  body: domainsBody("DedicatedIpDomainsUnassign", "The domains to unassign."),
  output: DedicatedIpWithDomains,
  problems: ["busy"],
  ahead: ({ params, body }, expected) => aheadOfMove(params, body.domains, expected),
  checkRepeat: ({ params, body }, context, answer) =>
    requireRepeatable(params.account_id, body.domains, answer, context),
  requireExists: ({ params }, context) => ipToMove(params, context),
  run: async ({ params, body }, context) => {
    // An interrupted attempt may have unassigned the domain that gave the caller access to the dedicated IP.
    const ip = await (context.hasBegun ? ipNamed(params, context) : ipToMove(params, context));
    const { detail, moved } = await moveDomains(ip, { kind: "unassign", refs: body.domains }, context);
    await syncFirst(params.account_id, moved, context);
    return detail;
  },
});

export const handler = http(route);
