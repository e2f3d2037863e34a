import { domainsBody, moveDomains, aheadOfMove } from "../../../shared/dedicated-ips/assign.ts";
import { DedicatedIpWithDomains } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { IpParams, ipToMove } from "../../../shared/dedicated-ips/find.ts";
import { requireRepeatable } from "../../../shared/dedicated-ips/moves.ts";
import { syncFirst } from "../../../shared/dedicated-ips/sweep.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.domains.assign",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}/domains/assign" },
  summary: "Assign domains to the IP",
  synonyms: ["use", "send", "from", "address", "connect"],
  description:
    "The domains' mail leaves from the dedicated IP while it is `active`, and otherwise from the shared addresses. For a hosted domain, our nameservers publish an SPF record with the addresses of the dedicated IP. For an external domain, publish the new SPF value of `domains.dns_setup.get` at your DNS host. Until then mail from the dedicated IP can fail SPF. During the warm-up of a managed dedicated IP, mail above `warm_up.daily_limit` is refused until the next day (UTC): send it again then. All domains are assigned, or none. Domains that are already assigned to the dedicated IP are skipped. You need `ip.assign` on each domain. You also need it on the account, or on a domain that already sends from the dedicated IP.",
  capability: "ip.assign",
  scope: "visible",
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["dns"] },
  resumes: true,
  params: IpParams,
  body: domainsBody("DedicatedIpDomainsAssign", "The domains to assign."),
  output: DedicatedIpWithDomains,
  problems: ["ip_not_ready", "domain_has_ip", "domain_not_ready", "busy"],
  ahead: ({ params, body }, expected) => aheadOfMove(params, body.domains, expected),
  checkRepeat: ({ params, body }, context, answer) =>
    requireRepeatable(params.account_id, body.domains, answer, context),
  requireExists: ({ params }, context) => ipToMove(params, context),
  run: async ({ params, body }, context) => {
    const ip = await ipToMove(params, context);
    const { detail, moved } = await moveDomains(ip, { kind: "assign", refs: body.domains }, context);
    await syncFirst(params.account_id, moved, context);
    return detail;
  },
});

export const handler = http(route);
