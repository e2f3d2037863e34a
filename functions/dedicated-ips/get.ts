import { ipKind } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { IpParams, visibleIp } from "../../shared/dedicated-ips/find.ts";
import { aheadOfIpDetail, DedicatedIpDetail, ipDetail } from "../../shared/dedicated-ips/view.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}", etag: ipKind },
  summary: "Read a dedicated IP",
  synonyms: ["show", "details", "address", "status", "reverse DNS", "reputation", "warm-up", "bounce rate"],
  description:
    "Returns the dedicated IP with the first 100 domains that send from it, its reputation and its warm-up. If you can see only some domains of the account, you see only the dedicated IPs of those domains.",
  capability: "ip.view",
  scope: "visible",
  access: "read",
  usesPermissions: true,
  params: IpParams,
  output: DedicatedIpDetail,
  ahead: ({ params }) => aheadOfIpDetail(params.account_id, params.dedicated_ip_id),
  run: async ({ params }, context) => ipDetail(await visibleIp(params, ["ip.view"], context), context),
});

export const handler = http(route);
