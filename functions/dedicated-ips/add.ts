import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { HostAddresses } from "../../shared/dedicated-ips/address.ts";
import { DedicatedIp, IpName } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { addHost } from "../../shared/dedicated-ips/register.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dedicated_ips.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/dedicated-ips",
  summary: "Register a host of one's own",
  description:
    "Its addresses are the account's once the host has proved itself: see `dedicated_ips.authorize`. Until then anybody else may register them too. Once it is `active`, outgoing mail of the domains assigned to it is handed to it over port 587, without TLS unless the deployment's proxy begins it.",
  capability: "ip.manage",
  access: "write",
  params: AccountParams,
  body: z
    .strictObject({ name: IpName, ip_addresses: HostAddresses })
    .meta({ id: "DedicatedIpCreate", description: "A host of one's own to register." }),
  status: 201,
  location: "/v1/public/accounts/{account_id}/dedicated-ips/{id}",
  output: DedicatedIp,
  problems: ["ip_taken", "limit_reached"],
  run: ({ params, body: { name, ip_addresses } }, context) =>
    addHost(params.account_id, { name, ips: ip_addresses }, context),
});

export const handler = http(route);
