import { ipKind } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { ipInPath, IpParams } from "../../shared/dedicated-ips/find.ts";
import { deleteIp } from "../../shared/dedicated-ips/removal.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}",
  summary: "Delete a dedicated IP",
  description:
    "One that no domain sends from any more. What is paid of a managed one is not given back; what is only held for one that is still provisioned is free again. A host that was suspended stays.",
  capability: "ip.manage",
  subject: ipInPath,
  etag: ipKind,
  access: "write",
  params: IpParams,
  output: Empty,
  problems: ["ip_in_use", "ip_not_ready"],
  run: async ({ found }, context) => {
    await deleteIp(found, context);
    return {};
  },
});

export const handler = http(route);
