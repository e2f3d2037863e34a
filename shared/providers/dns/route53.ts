import type { Dns } from "./dns.ts";
import { change, hasArrived } from "./route53-changes.ts";
import { call, connectRoute53, type Route53 } from "./route53-client.ts";
import { createZone, deleteZone } from "./route53-zones.ts";

export type Route53Options = {
  /** A reusable delegation set, whose nameservers the zones are on; each has its own four without one. */
  delegationSetId?: string;
  /** How long one of the three attempts may take. */
  timeoutMs?: number;
  /** An origin instead of Route 53's, for tests. */
  endpoint?: string;
};

/**
 * Zones in Amazon Route 53. Its role needs route53:CreateHostedZone, DeleteHostedZone, ListHostedZonesByName,
 * ListResourceRecordSets, ChangeResourceRecordSets and GetChange. On one delegation set there cannot be a zone and one
 * below it. Route 53 takes five requests a second from an AWS account, and a change of 1,000 records and 32,000
 * characters of values, where what is put counts twice: more is an Error.
 */
export function route53Dns({ delegationSetId, timeoutMs = 5_000, endpoint }: Route53Options = {}): Dns {
  let connection: Promise<Route53> | undefined;
  const connect = (): Promise<Route53> => (connection ??= connectRoute53(timeoutMs, endpoint));
  return {
    createZone: (input) => call(async () => createZone(await connect(), input, delegationSetId)),
    changeZone: (zoneId, changes) => call(async () => change(await connect(), zoneId, changes)),
    isInSync: (changeId) => call(async () => hasArrived(await connect(), changeId)),
    deleteZone: (zoneId) => call(async () => deleteZone(await connect(), zoneId)),
  };
}
