import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { domainInBody } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { addRecord, aheadOfNewRecord } from "../../shared/domains/records/add.ts";
import { newRecord, newRecordFaults } from "../../shared/domains/records/input.ts";
import { DnsRecord, recordProblems } from "../../shared/domains/records/stored-record.ts";
import { viewAfterSync } from "../../shared/domains/records/sync-now.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/dns-records",
    status: 201,
    location: "/v1/public/accounts/{account_id}/dns-records/{id}",
  },
  summary: "Create a DNS record",
  synonyms: [
    "new",
    "add",
    "entry",
    "zone",
    "point",
    "subdomain",
    "website",
    "A",
    "AAAA",
    "CNAME",
    "MX",
    "TXT",
    "SPF",
    "TLSA",
    "DANE",
    "SSHFP",
    "HTTPS",
    "SVCB",
  ],
  description:
    "Adds a record to a domain whose DNS our nameservers serve. For an external domain the call fails with `dns_external`. The settings of the domain manage its MX, SPF, DKIM and DMARC records. A new record that would take the place of one of these records fails with `system_managed`. To change SPF or DMARC, set `spf_includes`, `dmarc_policy` or `dmarc_report_email` with `domains.update`. While a domain redirects, the settings also manage the A, AAAA, CNAME and HTTPS records of the domain itself, and all records of its `www` name. A domain has 1,000 records at most. With the `zone_status` `in_sync`, the nameservers have the record. With `pending`, the record is on its way, or waits until the domain is delegated.",
  capability: "dns.manage",
  subject: domainInBody,
  access: "write",
  lambda: { uses: ["dns"] },
  params: AccountParams,
  body: z
    .strictObject({ domain: DomainRef, ...newRecord })
    .superRefine((body, context) => {
      // The record is read only if each of its members is valid by itself.
      if (context.issues.length > 0) return;
      for (const { member, message } of newRecordFaults(body))
        context.addIssue({ code: "custom", path: [member], message });
    })
    .meta({ id: "DnsRecordCreate", description: "A new DNS record." }),
  output: DnsRecord,
  problems: recordProblems,
  ahead: ({ params, body }, expected) => aheadOfNewRecord(params.account_id, body.domain, expected),
  run: async ({ body, found }, context) =>
    context.answer(await viewAfterSync(await addRecord(found, body, context), found, context)),
});

export const handler = http(route);
