import { DedicatedIpDetail, ipKind } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { IpParams, seenIp } from "../../shared/dedicated-ips/find.ts";
import { ipDetail } from "../../shared/dedicated-ips/view.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.get",
  method: "GET",
  path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}",
  summary: "Read a dedicated IP",
  description:
    "With the first hundred of the domains that send from it. Who sees only some domains of the account sees the dedicated IPs of those.",
  capability: "ip.view",
  scope: "visible",
  etag: ipKind,
  access: "read",
  params: IpParams,
  output: DedicatedIpDetail,
  run: async ({ params }, context) => ipDetail(await seenIp(params, ["ip.view"], context), context),
});

export const handler = http(route);
