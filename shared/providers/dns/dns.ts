import type { RRset, RecordType } from "../../dns/rrset.ts";

/** What becomes of one RRset of a zone: it is replaced whole, or it is gone. */
export type ZoneChange = { put: RRset } | { remove: { name: string; type: RecordType } };

export type ZoneChanged = {
  changeId: string;
  isInSync: boolean;
  refused?: readonly { name: string; type: RecordType }[];
};

/**
 * Hosts zones (RFC 1034 §4.2). Everything may be asked again after a lost answer. What cannot be done now throws 503
 * `upstream_unavailable`.
 */
export type Dns = {
  /**
   * Makes the zone of a name, with these nameservers as its apex NS RRset, or finds the one made with the same
   * reference. Throws `ZoneExists` while a zone of that name made with another reference is still there.
   */
  createZone: (input: {
    name: string;
    reference: string;
    nameservers: readonly string[];
  }) => Promise<{ zoneId: string }>;
  /**
   * Makes all changes (1 to 200 RRsets) or none; done again it comes to the same. Answers whether all servers have it,
   * and which RRsets have a record that the provider cannot hold, which is left out.
   */
  changeZone: (zoneId: string, changes: readonly ZoneChange[]) => Promise<ZoneChanged>;
  /** Whether all servers have a change by now. */
  isInSync: (changeId: string) => Promise<boolean>;
  /** Removes a zone and all that is in it; one that is gone is fine. */
  deleteZone: (zoneId: string) => Promise<void>;
};

/** A zone of the same name, made with another reference, is in the way. */
export class ZoneExists extends Error {}

/** The TTL of the apex NS RRset of every zone, in seconds. */
export const apexTtlSeconds = 86_400;
