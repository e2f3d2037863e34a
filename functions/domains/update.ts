import { resolverHere } from "../../shared/dns/services.ts";
import { domainKind } from "../../shared/domains/domain.ts";
import { domainInPath, DomainParams } from "../../shared/domains/find.ts";
import { syncNow } from "../../shared/domains/records/sync-now.ts";
import { domainDetail, DomainDetail, hidingRecords } from "../../shared/domains/setup/detail.ts";
import { makeDkimNow } from "../../shared/domains/setup/dkim-now.ts";
import { hasProtection, applyProtection } from "../../shared/domains/setup/protection.ts";
import { registrarHere } from "../../shared/domains/setup/services.ts";
import { DomainSettings, setDomain, aheadOfSettings } from "../../shared/domains/setup/settings.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";

export const route = defineRoute({
  name: "domains.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/domains/{domain}", etag: domainKind },
  summary: "Update a domain's settings",
  synonyms: [
    "change",
    "edit",
    "automatic renewal",
    "renew",
    "lock",
    "privacy",
    "whois",
    "tag",
    "label",
    "DMARC",
    "turn on",
    "turn off",
  ],
  description:
    "Members of the body that you leave out stay as they are. For a hosted domain, our nameservers publish the records that follow from the settings, such as the DMARC and SPF records. For an external domain, publish the changed records of `domains.dns_setup.get` yourself. `locked` and `privacy` are sent to the registrar at once, and take effect after a few minutes: see `registration.registrar_status`.",
  capability: "domain.update",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["dns", "registrar", "secrets"] },
  params: DomainParams,
  body: DomainSettings,
  output: DomainDetail,
  problems: [
    "dns_unavailable",
    "domain_not_ready",
    "record_conflict",
    "redirects_unavailable",
    "registrar_unavailable",
    "upstream_unavailable",
    "zone_conflict",
  ],
  ahead: ({ params, body }, expected) => aheadOfSettings(params, body, expected),
  run: async ({ body, found }, context) => {
    const { after, isServed } = await hidingRecords(found, context, setDomain(found, body, context, resolverHere()));
    if (isServed) await syncNow(after, context);
    if (body.dns_mode !== undefined) await makeDkimNow(after.account_id, after, context);
    if (hasProtection(body)) await applyProtection(after, context, registrarHere());
    return context.answer(await domainDetail(after, context));
  },
});

export const handler = http(route);
