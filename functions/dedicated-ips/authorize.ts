import * as z from "zod";

import { AuthorizedIp, authorizeIp } from "../../shared/dedicated-ips/authorize.ts";
import { ipInPath, IpParams } from "../../shared/dedicated-ips/find.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.authorize",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}/authorize",
  summary: "Authorize a bring-your-own-host dedicated IP",
  description:
    "The first time, and with `reissue`, makes a setup key, which is in this answer and never again. Publish its hash as each address's `setup_record` says, and call this again: once every address has forward-confirmed reverse DNS and the record, the host is `active`. That is looked for now and then without asking, for 30 days.",
  capability: "ip.manage",
  subject: ipInPath,
  access: "write",
  shownOnce: ["setup_key"],
  limit: "outbound",
  params: IpParams,
  body: z
    .strictObject({
      reissue: z
        .boolean()
        .default(false)
        .meta({ description: "Whether to make another setup key: the old one proves nothing any more." }),
    })
    .meta({ id: "DedicatedIpAuthorize", description: "How to authorize a host of one's own." }),
  output: AuthorizedIp,
  problems: ["ip_not_ready", "ip_taken"],
  run: ({ body, found }, context) => authorizeIp(found, body.reissue, context, resolverHere()),
});

export const handler = http(route);
