import { recordInPath, RecordParams, removeRecord } from "../../shared/dns-records/change.ts";
import { recordKind } from "../../shared/dns-records/stored-record.ts";
import { http } from "../../shared/http.ts";
import { defineRoute, Empty } from "../../shared/route.ts";
import { syncSoon } from "../../shared/zones/soon.ts";

export const route = defineRoute({
  name: "dns_records.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/dns-records/{record_id}",
  summary: "Delete a DNS record",
  capability: "dns.manage",
  subject: recordInPath,
  etag: recordKind,
  access: "write",
  uses: ["dns"],
  params: RecordParams,
  output: Empty,
  problems: ["system_managed", "domain_not_ready"],
  run: async ({ found }, context) => {
    await removeRecord(found, context);
    await syncSoon(found.domain, context);
    return {};
  },
});

export const handler = http(route);
