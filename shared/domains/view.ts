import { type Change, change } from "../changes/kind.ts";
import { money } from "../core/money.ts";
import { registrarCurrency } from "../providers/registrar/registrar.ts";
import type { Reader } from "../table/table.ts";
import { tagsAmong } from "../tags/tag.ts";
import { domainKind, isRenewing, isTransferring, sendsMail, type Domain, type StoredDomain } from "./domain.ts";
import { unicodeOf } from "./name.ts";
import { selectors } from "./records/dkim-keys.ts";

type Tags = ReadonlyMap<string, { id: string; name: string }>;

/** The API view of a domain, with the names of its tags. */
export const domainView = (domain: StoredDomain, tags: Tags = new Map()): Domain => ({
  id: domain.id,
  name: domain.name,
  unicode_name: unicodeOf(domain.name),
  workspace_id: domain.workspace_id,
  status: domain.status,
  status_reason: domain.status_reason,
  broken_records: domain.broken_records,
  deletes_at: domain.deletes_at,
  outbound_routing_ready: sendsMail(domain),
  source: domain.source,
  dns_mode: domain.dns_mode,
  nameservers: domain.nameservers,
  registration: domain.registration,
  renewal: renewalView(domain),
  transfer: transferView(domain),
  auto_renew: domain.auto_renew,
  redirect_url: domain.redirect_url,
  dmarc_policy: domain.dmarc_policy,
  dmarc_report_email: domain.dmarc_report_email,
  spf_includes: domain.spf_includes,
  mta_sts_mode: domain.mta_sts_mode ?? "none",
  tls_report_email: domain.tls_report_email,
  dkim_keys: dkimKeysOf(domain),
  dkim_rotation_months: domain.dkim_rotation_months,
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

/** The DKIM keys of a domain. Before the first rotation, the first key has signed since the name was proved. */
function dkimKeysOf({ dkim, verified_at }: StoredDomain): Domain["dkim_keys"] {
  const first = verified_at === null ? undefined : { selector: selectors[0], since: verified_at };
  const signing = dkim ?? first;
  if (!signing) return [];
  const { selector, since } = signing;
  return [
    { selector, status: "signing", since, removes_at: null },
    ...(dkim?.next ? [{ ...dkim.next, status: "pending" as const, removes_at: null }] : []),
    ...(dkim?.former ? [{ ...dkim.former, status: "retiring" as const, since }] : []),
  ];
}

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
    currency: registrarCurrency,
    by,
    started_at,
  };
}

function transferView(domain: StoredDomain): Domain["transfer"] {
  const { transfer } = domain;
  if (!transfer) return null;
  const { id, stage, reason, price, started_at } = transfer;
  const ended = stage === "captured" ? "succeeded" : "failed";
  return {
    id,
    status: isTransferring(domain) ? "running" : ended,
    reason,
    price: money(price),
    currency: registrarCurrency,
    started_at,
  };
}

/** The API views of domains of one account. Takes a round trip to the table if any of the domains has tags. */
export async function domainViews(
  table: Reader,
  accountId: string,
  domains: readonly StoredDomain[],
): Promise<Domain[]> {
  const ids = domains.flatMap(({ tag_ids }) => tag_ids);
  const tags = ids.length === 0 ? new Map() : await tagsAmong(table, accountId, ids);
  return domains.map((domain) => domainView(domain, tags));
}

/** Builds the change of a domain from `before` to `after`. Reads the names of the domain's tags, if it has any. */
export async function domainChange(
  table: Reader,
  verb: (typeof domainKind.verbs)[number],
  before: StoredDomain,
  after: StoredDomain,
): Promise<Change> {
  const [viewBefore, viewAfter] = (await domainViews(table, before.account_id, [before, after])) as [Domain, Domain];
  return change(domainKind, verb, before.id, { before: viewBefore, after: viewAfter });
}
