import { covers } from "../auth/permissions.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Context } from "../http/route.ts";
import { DedicatedIpDetail, type StoredIp } from "./dedicated-ip.ts";
import { domainIdsOf, domainsSeen, domainsShown } from "./find.ts";
import { ipSeen } from "./view.ts";

const shown = 100;

/** What an assignment is about to add to the domains of a dedicated IP, or to take from them. */
export type Moving = { added: readonly string[]; removed: readonly string[] };
const nothing: Moving = { added: [], removed: [] };

/** A dedicated IP with its domains, as far as the reader sees these; what is `moving` counts as moved. */
export async function ipDetail(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions">,
  moving: Moving = nothing,
): Promise<DedicatedIpDetail> {
  const domains = await domainsOf(ip, context, moving);
  return DedicatedIpDetail.parse({ ...ipSeen(ip, context), domains: domains.map(({ id, name }) => ({ id, name })) });
}

async function domainsOf(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions">,
  { added, removed }: Moving,
): Promise<StoredDomain[]> {
  const { table, permissions } = context;
  if (covers(permissions, "domain.view", [])) {
    const ids =
      ip.domain_count === 0 && removed.length === 0 ? [] : await domainIdsOf(table, ip, shown + removed.length);
    const now = [...new Set([...ids, ...added])].filter((id) => !removed.includes(id)).toSorted();
    return domainsShown(ip.account_id, now.slice(0, shown), context);
  }
  const seen = await domainsSeen(ip.account_id, "domain.view", context);
  return seen
    .filter(({ dedicated_ip_id }) => dedicated_ip_id === ip.id)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .slice(0, shown);
}
