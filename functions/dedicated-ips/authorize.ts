import * as z from "zod";

import { AuthorizedIp, authorizeIp } from "../../shared/dedicated-ips/authorize.ts";
import { ipInPath, IpParams } from "../../shared/dedicated-ips/find.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { secretsHere } from "../../shared/providers/secrets/factory.ts";

export const route = defineRoute({
  name: "dedicated_ips.authorize",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/dedicated-ips/{dedicated_ip_id}/authorize" },
  summary: "Authorize a bring-your-own-host dedicated IP",
  synonyms: ["verify", "prove", "own", "server", "setup key", "activate"],
  description:
    "The first call, and every call with `reissue`, creates a setup key. The answer to such a call shows the setup key and the `relay_login` with which our mail servers hand mail over to your host. Neither is shown again. Publish the `setup_record` of each address, which has the hash of the key, and call this function again. The host is `active` once every address has forward-confirmed reverse DNS and its setup record. We repeat this check from time to time, for 30 days. If the host is not proved by then, its setup key expires, the host is `pending_authorization`, and you must call this function again.",
  capability: "ip.manage",
  subject: ipInPath,
  access: "write",
  usesPermissions: true,
  shownOnce: ["setup_key", "relay_login"],
  lambda: { uses: ["secrets"] },
  limit: "outbound",
  params: IpParams,
  body: z
    .strictObject({
      reissue: z.boolean().default(false).meta({
        description:
          "Whether to create another setup key and another relay login. The old ones then stop working. The host becomes `verifying`, and mail leaves from the shared addresses until you publish the new setup records. Meanwhile another account that proves an address of the host can take over this address. The default is false.",
      }),
    })
    .meta({ id: "DedicatedIpAuthorize", description: "How to authorize your own host." }),
  output: AuthorizedIp,
  problems: ["ip_not_ready", "ip_taken"],
  run: ({ body, found }, context) =>
    authorizeIp(found, body.reissue, context, { resolver: resolverHere(), secrets: secretsHere() }),
});

export const handler = http(route);
