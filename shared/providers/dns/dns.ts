import type { RRset, RecordType } from "../../dns/rrset.ts";

/** A change of one RRset in a zone: replace the whole RRset, or remove it. */
export type ZoneChange = { put: RRset } | { remove: { name: string; type: RecordType } };

/** The result of a change: whether all servers have the change, and which RRsets have a record that was left out. */
export type ZoneChanged = {
  changeId: string;
  isInSync: boolean;
  refused?: readonly { name: string; type: RecordType }[];
};

/**
 * The members of an SOA that differ from zone to zone. `zone` is empty for the root. `nameserver` is the first
 * nameserver of the zone.
 */
export type SoaOwner = { zone: string; nameserver: string; serial: number };

/**
 * The data of a zone's SOA, with times in seconds (RFC 1035 §3.3.13). Our nameservers do not use `refresh`, `retry` and
 * `expire`. They matter only to other servers that load the exported zone.
 */
export const soaOf = ({ zone, nameserver, serial }: SoaOwner) => ({
  mname: nameserver,
  rname: zone === "" ? "hostmaster" : `hostmaster.${zone}`,
  serial,
  refresh: 7_200,
  retry: 900,
  expire: 1_209_600,
  minimum: soaTtlSeconds,
});

/**
 * Hosts DNS zones (RFC 1034 §4.2). A call whose answer was lost can be repeated. Throws 503 `upstream_unavailable` when
 * the provider is unavailable.
 */
export type Dns = {
  /**
   * Creates a zone with these nameservers as its apex NS RRset, or finds the zone that was made with the same
   * reference. Throws `ZoneExists` while the name still has a zone that was made with another reference, and
   * `ZoneConflict` if the nameservers cannot hold the zone beside a zone above or below the name.
   */
  createZone: (input: {
    name: string;
    reference: string;
    nameservers: readonly string[];
  }) => Promise<{ zoneId: string }>;
  /**
   * Makes changes (1 to 200 RRsets). If two changes are about the same RRset, the later change counts. A repeat has no
   * further effect. Returns whether all servers have the changes, and which RRsets have a record that the provider
   * cannot hold. Such records are left out. The SOA of the zone changes only with `soa`.
   */
  changeZone: (zoneId: string, changes: readonly ZoneChange[], soa?: SoaOwner) => Promise<ZoneChanged>;
  /** Whether all servers have a change. */
  isInSync: (changeId: string) => Promise<boolean>;
  /** Removes a zone with all its records; does nothing when the zone is gone. */
  deleteZone: (zoneId: string) => Promise<void>;
};

/** Thrown when the name already has a zone that was made with another reference. */
export class ZoneExists extends Error {}

/** Thrown when the nameservers have a zone of a parent or a subdomain of the name. They cannot hold both zones. */
export class ZoneConflict extends ZoneExists {}

/** The TTL of the apex NS RRset of every zone, in seconds. */
export const apexTtlSeconds = 86_400;

/** The TTL of the SOA of every zone, in seconds. Resolvers keep negative answers for this time (RFC 2308 §5). */
export const soaTtlSeconds = 300;
