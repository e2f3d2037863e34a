import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { DedicatedIp, ipsOf, accountLimit } from "../../shared/dedicated-ips/dedicated-ip.ts";
import { ipQuery, listIps } from "../../shared/dedicated-ips/list.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfRows } from "../../shared/table/ranked-list.ts";

export const route = defineRoute({
  name: "dedicated_ips.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dedicated-ips" },
  summary: "List dedicated IPs",
  synonyms: ["address", "own", "addresses", "show", "sending"],
  description:
    "The dedicated IPs that you may see, oldest first. If you can see only some domains of the account, you see only the dedicated IPs of those domains.",
  capability: "ip.view",
  scope: "visible",
  access: "read",
  usesPermissions: true,
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...ipQuery }),
  output: pageOf(DedicatedIp, "dedicated IPs").meta({
    id: "DedicatedIpListResponse",
    description: "A page of dedicated IPs.",
  }),
  ahead: ({ params }) => aheadOfRows(ipsOf(params.account_id), { skip: 0, take: accountLimit }),
  run: async ({ params, query }, context) => ({ ...(await listIps(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
