import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { pageOf, pageQuery } from "../../shared/core/page.ts";
import { listRecords, recordQuery, aheadOfRecords } from "../../shared/domains/records/list.ts";
import { DnsRecord } from "../../shared/domains/records/stored-record.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dns-records" },
  summary: "List DNS records",
  synonyms: ["show", "find", "zone", "entries", "A", "AAAA", "CNAME", "MX", "TXT", "TLSA", "HTTPS"],
  description:
    "The DNS records of the domains that you may see, oldest first. If you see only a part of the account, the records are grouped by domain. Without a `domain`, a filter looks at 20,000 records at most: if the account has more, give a `domain`. If you see only a part of the account, and this part has more than 200 domains, you must always give a `domain`.",
  capability: "dns.view",
  scope: "visible",
  access: "read",
  params: AccountParams,
  query: z.strictObject({ ...pageQuery, ...recordQuery }),
  output: pageOf(DnsRecord, "records").meta({ id: "DnsRecordListResponse", description: "A page of DNS records." }),
  ahead: ({ params, query }, expected) => aheadOfRecords(params.account_id, query, expected),
  run: async ({ params, query }, context) => ({ ...(await listRecords(params.account_id, query, context)), ...query }),
});

export const handler = http(route);
