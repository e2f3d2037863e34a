import type * as z from "zod";

import { covers } from "../auth/permissions.ts";
import { clock, dayOf } from "../core/time.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Context } from "../http/route.ts";
import { Reputation, reputationDays, reputationOf } from "../statistics/reputation.ts";
import {
  firstOfLast,
  readStatistics,
  type StatisticsSubject,
  statisticsRange,
  sumCounts,
} from "../statistics/statistics.ts";
import type { Ahead } from "../table/read-ahead.ts";
import {
  type DedicatedIp,
  DedicatedIpWithDomains,
  ipKey,
  type StoredIpAddress,
  type StoredIp,
} from "./dedicated-ip.ts";
import { domainIdsOf, domainsWithCapability, visibleDomainsByIds } from "./find.ts";
import { WarmUp, warmUpDay } from "./warm-up.ts";

/** The name at which a customer's own host publishes the hash of its setup key. */
export const setupName = (rdns: string): string => `_setup.${rdns}`;

const addressView = ({ key_hash }: StoredIp, address: StoredIpAddress): DedicatedIp["ip_addresses"][number] => ({
  ip: address.ip,
  rdns: address.rdns,
  fcrdns_confirmed: address.fcrdns_confirmed,
  healthy: address.healthy,
  message: address.message,
  setup_record:
    key_hash === undefined || address.rdns === null
      ? null
      : { name: setupName(address.rdns), type: "TXT", value: key_hash },
});

/**
 * The view of a dedicated IP for a caller. `domain_count` is null for a caller who may not see all domains of the
 * account.
 */
export const ipViewFor = (ip: StoredIp, { permissions }: Pick<Context, "permissions">): DedicatedIp => ({
  ...ipView(ip),
  domain_count: covers(permissions, "domain.view", []) ? ip.domain_count : null,
});

/** The full view of a dedicated IP, for events, for the operator and for the caller who has created it. */
export const ipView = (ip: StoredIp): DedicatedIp => ({
  id: ip.id,
  name: ip.name,
  type: ip.type,
  status: ip.status,
  status_reason: ip.status_reason,
  asn: ip.asn,
  country_code: ip.country_code,
  ip_addresses: ip.addresses.map((address) => addressView(ip, address)),
  domain_count: ip.domain_count,
  created_at: ip.created_at,
  updated_at: ip.updated_at,
});

const maxDomains = 100;

/** The ids of domains that the present transaction adds to a dedicated IP or removes from it. */
export type MovedDomains = { added: readonly string[]; removed: readonly string[] };
const noMoves: MovedDomains = { added: [], removed: [] };

/**
 * The view of a dedicated IP, with the first 100 domains that the caller may see. The domains in `moved` are shown as
 * moved already.
 */
export async function ipWithDomains(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions">,
  moved: MovedDomains = noMoves,
): Promise<DedicatedIpWithDomains> {
  const domains = await domainsOf(ip, context, moved);
  const named = domains.map(({ id, name }) => ({ id, name }));
  return DedicatedIpWithDomains.parse({ ...ipViewFor(ip, context), domains: named });
}

async function domainsOf(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions">,
  { added, removed }: MovedDomains,
): Promise<StoredDomain[]> {
  const { table, permissions } = context;
  if (covers(permissions, "domain.view", [])) {
    const ids =
      ip.domain_count === 0 && removed.length === 0 ? [] : await domainIdsOf(table, ip, maxDomains + removed.length);
    const current = [...new Set([...ids, ...added])].filter((id) => !removed.includes(id)).toSorted();
    return visibleDomainsByIds(ip.account_id, current.slice(0, maxDomains), context);
  }
  const visible = await domainsWithCapability(ip.account_id, "domain.view", context);
  return visible
    .filter(({ dedicated_ip_id }) => dedicated_ip_id === ip.id)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .slice(0, maxDomains);
}

export const DedicatedIpDetail = DedicatedIpWithDomains.extend({
  reputation: Reputation,
  warm_up: WarmUp.nullable().meta({
    description: "The warm-up. Null for your own host, before the warm-up begins, and when the warm-up is over.",
  }),
}).meta({ id: "DedicatedIpDetail", description: "A dedicated IP with its domains, its reputation and its warm-up." });
type DedicatedIpDetail = z.output<typeof DedicatedIpDetail>;

const subjectOf = (id: string): StatisticsSubject => ({ type: "dedicated_ip", id });

/** The items that `visibleIp` and `ipDetail` read first. */
export function aheadOfIpDetail(accountId: string, id: string): Ahead {
  const today = dayOf(clock());
  const range = statisticsRange(accountId, subjectOf(id), firstOfLast(reputationDays, today), today);
  return { keys: [ipKey(accountId, id)], ranges: [range] };
}

/** The view of a dedicated IP with the first 100 domains that the caller may see, its reputation and its warm-up. */
export async function ipDetail(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions" | "now">,
): Promise<DedicatedIpDetail> {
  const { table, now } = context;
  const today = dayOf(now());
  const [view, days] = await Promise.all([
    ipWithDomains(ip, context),
    readStatistics(table, ip.account_id, subjectOf(ip.id), firstOfLast(reputationDays, today), today),
  ]);
  const warmUp = warmUpDay(ip, now());
  return {
    ...view,
    reputation: reputationOf(sumCounts(days.values())),
    warm_up: warmUp ? { ...warmUp, sent_today: days.get(today)?.sent ?? 0 } : null,
  };
}
