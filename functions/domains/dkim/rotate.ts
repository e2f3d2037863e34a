import { rotateDkim } from "../../../shared/domains/dkim/rotate.ts";
import { aheadOfDomainOnce, domainInPath, DomainParams } from "../../../shared/domains/find.ts";
import { syncNow } from "../../../shared/domains/records/sync-now.ts";
import { DomainDetail, hidingRecords } from "../../../shared/domains/setup/detail.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { secretsHere } from "../../../shared/providers/secrets/factory.ts";

export const route = defineRoute({
  name: "domains.dkim.rotate",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/domains/{domain}/dkim/rotate" },
  summary: "Rotate a domain's DKIM key",
  synonyms: ["renew", "replace", "new", "signature", "sign", "selector", "private key", "leaked", "stolen"],
  description:
    "Makes a new DKIM key. A domain has the selectors `hm1` and `hm2`, and the new key gets the selector that is not in use. For a hosted domain, our nameservers publish the record of the key. For an external domain, publish the record yourself, as `domains.dns_setup.get` shows it. The old key signs until the new record is seen in the DNS. Then the new key signs. The old record must stay until `removes_at`, seven days later. Our nameservers then remove it. At your own DNS host, remove it yourself. Until the rotation is over, another one fails with `rotation_running`. `dkim_keys` shows the keys, and the events are `domain.dkim_rotation_started`, `domain.dkim_rotated` and `domain.dkim_key_removed`.",
  capability: "domain.update",
  subject: domainInPath,
  access: "write",
  usesPermissions: true,
  lambda: { uses: ["secrets", "dns"] },
  limit: "outbound",
  params: DomainParams,
  output: DomainDetail,
  problems: ["domain_not_ready", "record_conflict", "rotation_running"],
  ahead: ({ params }, expected) => aheadOfDomainOnce(expected, params.account_id, params.domain),
  run: async ({ found }, context) => {
    const { value, isServed } = await hidingRecords(found, context, rotateDkim(found, context, secretsHere()));
    if (isServed) await syncNow(found, context);
    return value;
  },
});

export const handler = http(route);
