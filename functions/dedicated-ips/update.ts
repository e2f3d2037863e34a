import * as z from "zod";

import { renameIp } from "../../shared/dedicated-ips/change.ts";
import { DedicatedIp, ipKey, ipKind, IpName } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { ipInPath, IpParams } from "../../shared/dedicated-ips/find.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}", etag: ipKind },
  summary: "Rename a dedicated IP",
  synonyms: ["change", "edit", "name", "label", "address"],
  capability: "ip.manage",
  subject: ipInPath,
  access: "write",
  usesPermissions: true,
  params: IpParams,
  body: z.strictObject({ name: IpName }).meta({ id: "DedicatedIpUpdate", description: "The dedicated IP's new name." }),
  output: DedicatedIp,
  ahead: ({ params: { account_id, dedicated_ip_id: id } }) => {
    // The look-up of the resource and the change each read the dedicated IP, so its key is listed twice.
    const key = ipKey(account_id, id);
    return { keys: [key, key] };
  },
  run: ({ params, body }, context) => renameIp(params.account_id, params.dedicated_ip_id, body.name, context),
});

export const handler = http(route);
