import { notFound } from "../../shared/core/errors.ts";
import { recordInPath, RecordParams, aheadOfRecord } from "../../shared/domains/records/change.ts";
import { DnsRecord, recordKind, recordViews } from "../../shared/domains/records/stored-record.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/dns-records/{record_id}", etag: recordKind },
  summary: "Read a DNS record",
  synonyms: ["show", "entry", "details"],
  capability: "dns.view",
  subject: recordInPath,
  access: "read",
  params: RecordParams,
  output: DnsRecord,
  ahead: ({ params }, expected) => aheadOfRecord(params, expected),
  run: async ({ params, found }, { table }) => {
    const [view] = await recordViews(table, params.account_id, [found.record]);
    if (!view) throw notFound();
    return view;
  },
});

export const handler = http(route);
