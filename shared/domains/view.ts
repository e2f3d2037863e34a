import { currency, money } from "../core/money.ts";
import type { Reader } from "../table/table.ts";
import { tagsAmong } from "../tags/tag.ts";
import { isRenewing, sendsMail, type Domain, type StoredDomain } from "./domain.ts";
import { unicodeOf } from "./name.ts";

type Tags = ReadonlyMap<string, { id: string; name: string }>;

/** The API view of a domain, with the names of its tags. */
export const domainView = (domain: StoredDomain, tags: Tags = new Map()): Domain => ({
  id: domain.id,
  name: domain.name,
  unicode_name: unicodeOf(domain.name),
  workspace_id: domain.workspace_id,
  status: domain.status,
  status_reason: domain.status_reason,
  deletes_at: domain.deletes_at,
  outbound_routing_ready: sendsMail(domain),
  source: domain.source,
  nameservers: domain.nameservers,
  registration: domain.registration,
  renewal: renewalView(domain),
  auto_renew: domain.auto_renew,
  redirect_url: domain.redirect_url,
  dmarc_policy: domain.dmarc_policy,
  dmarc_report_email: domain.dmarc_report_email,
  dedicated_ip_id: domain.dedicated_ip_id,
  tags: domain.tag_ids.flatMap((id) => {
    const tag = tags.get(id);
    return tag ? [{ id, name: tag.name }] : [];
  }),
  warnings: domain.warnings,
  verified_at: domain.verified_at,
  created_at: domain.created_at,
  updated_at: domain.updated_at,
});

function renewalView(domain: StoredDomain): Domain["renewal"] {
  const { renewal } = domain;
  if (!renewal) return null;
  const { id, stage, reason, years, price, restore_fee, by, started_at } = renewal;
  const ended = stage === "captured" ? "succeeded" : "failed";
  return {
    id,
    status: isRenewing(domain) ? "running" : ended,
    reason,
    years,
    price: money(price),
    restore_fee: money(restore_fee),
    currency,
    by,
    started_at,
  };
}

/** The API views of domains of one account. Takes one more round trip if any of them has tags. */
export async function domainViews(
  table: Reader,
  accountId: string,
  domains: readonly StoredDomain[],
): Promise<Domain[]> {
  const ids = domains.flatMap(({ tag_ids }) => tag_ids);
  const tags = ids.length === 0 ? new Map() : await tagsAmong(table, accountId, ids);
  return domains.map((domain) => domainView(domain, tags));
}
