import { ipKind } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { ipInPath, IpParams } from "../../shared/dedicated-ips/find.ts";
import { deleteIp, aheadOfIpDeletion } from "../../shared/dedicated-ips/removal.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}", etag: ipKind },
  summary: "Delete a dedicated IP",
  synonyms: ["remove", "cancel", "return", "release", "give back", "address", "server"],
  description:
    "Unassign the domains that send from the dedicated IP first. The deletion fails with `ip_in_use` while a domain sends from the dedicated IP, or while domains are being assigned or unassigned. The price of a managed dedicated IP is not refunded. If the dedicated IP is still `provisioning`, its hold is voided. On the plan `per_dedicated_ip`, each day without a managed dedicated IP is charged by the plan `per_mailbox`. Your own host cannot be deleted while it is suspended.",
  capability: "ip.manage",
  subject: ipInPath,
  access: "write",
  usesPermissions: true,
  params: IpParams,
  output: Empty,
  problems: ["ip_in_use", "ip_not_ready"],
  ahead: ({ params }, expected) => aheadOfIpDeletion(params.account_id, params.dedicated_ip_id, expected),
  run: async ({ found }, context) => {
    await deleteIp(found, context);
    return {};
  },
});

export const handler = http(route);
