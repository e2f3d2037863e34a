import { covers } from "../auth/permissions.ts";
import type { Context } from "../http/route.ts";
import type { DedicatedIp, StoredAddress, StoredIp } from "./dedicated-ip.ts";

/** Where a host of one's own publishes the hash of its setup key. */
export const setupName = (rdns: string): string => `_setup.${rdns}`;

const addressView = ({ key_hash }: StoredIp, address: StoredAddress): DedicatedIp["ip_addresses"][number] => ({
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

/** A dedicated IP as one reader sees it. Only a reader of all domains of the account sees their number. */
export const ipSeen = (ip: StoredIp, { permissions }: Pick<Context, "permissions">): DedicatedIp => ({
  ...ipView(ip),
  domain_count: covers(permissions, "domain.view", []) ? ip.domain_count : null,
});

/** A dedicated IP as it is, for events and for who has just made it. */
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
