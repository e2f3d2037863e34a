import { covers } from "../auth/permissions.ts";
import type { StoredDomain } from "../domains/domain.ts";
import type { Context } from "../http/route.ts";
import { type DedicatedIp, DedicatedIpDetail, type StoredIpAddress, type StoredIp } from "./dedicated-ip.ts";
import { domainIdsOf, domainsSeen, domainsShown } from "./find.ts";

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

/** A dedicated IP as one reader sees it. Only a reader who may see all domains of the account sees their number. */
export const ipSeen = (ip: StoredIp, { permissions }: Pick<Context, "permissions">): DedicatedIp => ({
  ...ipView(ip),
  domain_count: covers(permissions, "domain.view", []) ? ip.domain_count : null,
});

/** A dedicated IP in full, for events and for the caller who has just made it. */
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

const shownDomains = 100;

/** The domains that a running assignment adds to a dedicated IP or removes from it. */
export type Moving = { added: readonly string[]; removed: readonly string[] };
const noMoves: Moving = { added: [], removed: [] };

/** A dedicated IP with the domains that the reader may see. The domains in `moving` are shown as already moved. */
export async function ipDetail(
  ip: StoredIp,
  context: Pick<Context, "table" | "permissions">,
  moving: Moving = noMoves,
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
      ip.domain_count === 0 && removed.length === 0 ? [] : await domainIdsOf(table, ip, shownDomains + removed.length);
    const current = [...new Set([...ids, ...added])].filter((id) => !removed.includes(id)).toSorted();
    return domainsShown(ip.account_id, current.slice(0, shownDomains), context);
  }
  const visible = await domainsSeen(ip.account_id, "domain.view", context);
  return visible
    .filter(({ dedicated_ip_id }) => dedicated_ip_id === ip.id)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .slice(0, shownDomains);
}
