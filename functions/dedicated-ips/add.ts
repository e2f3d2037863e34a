import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { DedicatedIp, IpName } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { addHost, aheadOfHost, HostAddresses } from "../../shared/dedicated-ips/register.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { planRequired } from "../../shared/wallet/state.ts";

export const route = defineRoute({
  name: "dedicated_ips.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/dedicated-ips",
    status: 201,
    location: "/v1/public/accounts/{account_id}/dedicated-ips/{id}",
  },
  summary: "Register your own host",
  synonyms: ["own", "server", "mail server", "bring", "address", "sending", "SMTP", "relay"],
  description:
    "Registers a mail server of your own as a dedicated IP. Its addresses belong to the account once the host is authorized with `dedicated_ips.authorize`. Other accounts can register the same addresses. While your host is `active` and publishes its setup records, they cannot authorize these addresses. Once the host is `active`, outgoing mail of its assigned domains is sent through the host, over port 587 of its first address. The host must have a TLS certificate for its name, and must relay mail for the `relay_login` of `dedicated_ips.authorize`. An account has 100 dedicated IPs at most.",
  capability: "ip.manage",
  access: "write",
  requires: planRequired,
  params: AccountParams,
  body: z
    .strictObject({ name: IpName, ip_addresses: HostAddresses })
    .meta({ id: "DedicatedIpCreate", description: "Your own host to register." }),
  output: DedicatedIp,
  problems: ["ip_taken", "limit_reached"],
  ahead: ({ params, body }) => aheadOfHost(params.account_id, body.ip_addresses),
  run: ({ params, body: { name, ip_addresses } }, context) =>
    addHost(params.account_id, { name, ips: ip_addresses }, context),
});

export const handler = http(route);
