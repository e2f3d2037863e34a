import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { domainInQuery } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { exportRecords, aheadOfExport } from "../../shared/domains/records/zone-file.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.export",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dns-records/export" },
  summary: "Export a domain's records as a zone file",
  synonyms: ["download", "save", "backup", "back up", "bind", "copy", "settings"],
  description:
    "Returns a zone file (RFC 1035) with all records of the domain that are stored here. Other DNS servers can load it. The records that an external domain has at its own DNS host are not in the file.",
  capability: "dns.view",
  subject: domainInQuery,
  access: "read",
  params: AccountParams,
  query: z.strictObject({ domain: DomainRef }),
  output: z
    .object({
      domain: z.string().meta({ description: "The domain's name." }),
      record_count: z.int().min(0).meta({
        description: "How many records of the domain are in the file, without the SOA record and the nameservers.",
      }),
      zone_file: z.string().meta({ description: "The text of the zone file." }),
    })
    .meta({ id: "DnsExportResponse", description: "A domain's records as a zone file." }),
  ahead: ({ params, query }, expected) => aheadOfExport(params.account_id, query.domain, expected),
  run: ({ found }, { table, now }) => exportRecords(found, table, now()),
});

export const handler = http(route);
