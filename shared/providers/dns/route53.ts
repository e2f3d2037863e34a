import type { Dns } from "./dns.ts";
import { change, hasArrived } from "./route53-changes.ts";
import { callRoute53, connectRoute53, type Route53 } from "./route53-client.ts";
import { createZone, deleteZone } from "./route53-zones.ts";

export type Route53Options = {
  /** A reusable delegation set whose nameservers serve the zones; without it each zone gets four of its own. */
  delegationSetId?: string;
  /** The time limit for each of the three attempts. */
  timeoutMs?: number;
  /** An origin instead of Route 53's, for tests. */
  endpoint?: string;
};

/**
 * Hosts zones in Amazon Route 53.
 * - Its role needs route53:CreateHostedZone, DeleteHostedZone, ListHostedZonesByName, ListResourceRecordSets,
 *   ChangeResourceRecordSets and GetChange.
 * - One delegation set cannot hold a zone and another zone below it.
 * - Route 53 takes five requests a second from an AWS account.
 * - A change has at most 1,000 records and 32,000 characters of values. An RRset that is put counts twice. A larger
 *   change throws an Error.
 */
export function route53Dns({ delegationSetId, timeoutMs = 5_000, endpoint }: Route53Options = {}): Dns {
  let connection: Promise<Route53> | undefined;
  const connect = (): Promise<Route53> => (connection ??= connectRoute53(timeoutMs, endpoint));
  return {
    createZone: (input) => callRoute53(async () => createZone(await connect(), input, delegationSetId)),
    changeZone: (zoneId, changes) => callRoute53(async () => change(await connect(), zoneId, changes)),
    isInSync: (changeId) => callRoute53(async () => hasArrived(await connect(), changeId)),
    deleteZone: (zoneId) => callRoute53(async () => deleteZone(await connect(), zoneId)),
  };
}
