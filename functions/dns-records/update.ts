import * as z from "zod";

import { changeRecord, recordInPath, RecordParams, aheadOfRecord } from "../../shared/domains/records/change.ts";
import { changedRecord } from "../../shared/domains/records/input.ts";
import { DnsRecord, recordKind, recordProblems } from "../../shared/domains/records/stored-record.ts";
import { viewAfterSync } from "../../shared/domains/records/sync-now.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/dns-records/{record_id}", etag: recordKind },
  summary: "Update a DNS record",
  synonyms: ["change", "edit", "entry", "zone", "A", "AAAA", "CNAME", "MX", "TXT", "TTL"],
  description:
    "Members of the body that you leave out stay as they are. A record keeps its domain and its type. For another type, add another record.",
  capability: "dns.manage",
  subject: recordInPath,
  access: "write",
  lambda: { uses: ["dns"] },
  params: RecordParams,
  body: z.strictObject(changedRecord).meta({ id: "DnsRecordUpdate", description: "The changes to a DNS record." }),
  output: DnsRecord,
  problems: recordProblems,
  ahead: ({ params }, expected) => aheadOfRecord(params, expected),
  run: async ({ body, found }, context) =>
    context.answer(await viewAfterSync(await changeRecord(found, body, context), found.domain, context)),
});

export const handler = http(route);
