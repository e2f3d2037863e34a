import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { resolverHere } from "../../shared/dns/services.ts";
import { domainInBody } from "../../shared/domains/find.ts";
import { DomainRef } from "../../shared/domains/name.ts";
import { aheadOfNewRecord } from "../../shared/domains/records/add.ts";
import { ImportAnswer, importRecords } from "../../shared/domains/records/import.ts";
import { recordView } from "../../shared/domains/records/stored-record.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "dns_records.import",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/dns-records/import" },
  summary: "Import a zone file, or the records in the public DNS",
  synonyms: ["upload", "load", "bind", "copy", "migrate", "many", "entries", "AXFR", "zone transfer", "old provider"],
  description:
    "Adds records from a zone file (RFC 1035, as BIND writes it) to the domain. With the source `public_dns`, the records come from the domain's present nameservers: by a zone transfer (AXFR) if the nameservers allow it, and otherwise by asking for about two hundred common names. Existing records are not changed or deleted. Entries that cannot be imported, such as the records of the domain's former mail host, are skipped and listed with the reason. Try it with `dry_run` first. A zone file has 1,000,000 characters at most. Only its first 5,000 entries are read. If it has more, `skipped` has the line where reading ended. A TTL below 60 seconds becomes 60, and a TTL above 86,400 seconds becomes 86,400. If the request is cut off, send it again. Records that exist already are then skipped.",
  capability: "dns.manage",
  subject: domainInBody,
  access: "write",
  limit: "outbound",
  resumes: true,
  lambda: { uses: ["dns"] },
  params: AccountParams,
  body: z
    .strictObject({
      domain: DomainRef,
      source: z.enum(["zone_file", "public_dns"]).default("zone_file").meta({
        description: "Where the records come from.",
      }),
      zone_file: z.string().min(1).max(1_000_000).optional().meta({
        description: "The text of the zone file. Required for the source `zone_file`, refused for `public_dns`.",
      }),
      dry_run: z
        .boolean()
        .default(false)
        .meta({ description: "Whether to report the result without importing anything." }),
    })
    .meta({ id: "DnsImport", description: "Records for a domain, from a zone file or the public DNS." }),
  output: ImportAnswer,
  problems: ["domain_not_ready", "dns_external", "limit_reached"],
  ahead: ({ params, body }, expected) => aheadOfNewRecord(params.account_id, body.domain, expected),
  run: async ({ body, found }, context) => {
    const { answer } = await importRecords(found, body, context, resolverHere());
    const zone = body.dry_run ? undefined : await syncNow(found, context);
    const value = answer((record) => recordView(record, zone));
    return context.commit(async () => ({ value, writes: [], changes: [] }));
  },
});

export const handler = http(route);
