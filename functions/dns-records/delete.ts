import { recordInPath, RecordParams, removeRecord, aheadOfRecordRemoval } from "../../shared/domains/records/change.ts";
import { recordKind } from "../../shared/domains/records/stored-record.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/dns-records/{record_id}", etag: recordKind },
  summary: "Delete a DNS record",
  synonyms: ["remove", "entry", "zone", "get rid of"],
  capability: "dns.manage",
  subject: recordInPath,
  access: "write",
  lambda: { uses: ["dns"] },
  params: RecordParams,
  output: Empty,
  problems: ["system_managed", "domain_not_ready"],
  ahead: ({ params }, expected) => aheadOfRecordRemoval(params, expected),
  run: async ({ found }, context) => {
    const { isServed } = await removeRecord(found, context);
    if (isServed) await syncNow(found.domain, context);
    return {};
  },
});

export const handler = http(route);
