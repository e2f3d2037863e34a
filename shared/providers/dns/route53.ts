import type {
  HostedZone,
  ListHostedZonesByNameRequest,
  ListHostedZonesByNameResponse,
  ResourceRecordSet,
} from "@aws-sdk/client-route-53";

import { type Dns, apexTtlSeconds, ZoneConflict, ZoneExists } from "./dns.ts";
import {
  change,
  hasArrived,
  toRoute53Name,
  batchesOf,
  isInvalidBatch,
  fromRoute53Name,
  sendChanges,
  setOf,
} from "./route53-changes.ts";
import {
  callRoute53,
  connectRoute53,
  type Route53,
  codeOf,
  listSets,
  mostSets,
  requireValue,
  route53Unavailable,
} from "./route53-client.ts";

export type Route53Options = {
  /**
   * A reusable delegation set whose nameservers serve the zones. Without this option, each zone gets four nameservers
   * of its own.
   */
  delegationSetId?: string;
  /** The time limit for each of the three attempts, in milliseconds. */
  timeoutMs?: number;
  /** An origin instead of Route 53's, for tests. */
  endpoint?: string;
};

/**
 * Hosts zones in Amazon Route 53.
 * - The AWS role needs route53:CreateHostedZone, DeleteHostedZone, ListHostedZonesByName, ListResourceRecordSets,
 *   ChangeResourceRecordSets and GetChange.
 * - One delegation set cannot hold a zone and another zone below it.
 * - Route 53 accepts five requests a second from an AWS account.
 * - A request has at most 1,000 records and 32,000 characters of values. An RRset that is put counts twice. A larger
 *   change takes several requests.
 */
export function route53Dns({ delegationSetId, timeoutMs = 5_000, endpoint }: Route53Options = {}): Dns {
  let connection: Promise<Route53> | undefined;
  const connect = (): Promise<Route53> => (connection ??= connectRoute53(timeoutMs, endpoint));
  return {
    createZone: (input) => callRoute53(async () => createZone(await connect(), input, delegationSetId)),
    changeZone: (zoneId, changes, soa) => callRoute53(async () => change(await connect(), zoneId, changes, soa)),
    isInSync: (changeId) => callRoute53(async () => hasArrived(await connect(), changeId)),
    deleteZone: (zoneId) => callRoute53(async () => deleteZone(await connect(), zoneId)),
  };
}

type NewZone = { name: string; reference: string; nameservers: readonly string[] };

/**
 * Route 53 Domains creates a zone for every name that it registers; the reference of such a zone begins with this
 * prefix. Such a zone has other nameservers and belongs to the registrar alone.
 */
const registrarsPrefix = "RISWorkflow-";

const pageSize = 20;

/** The public zones of a name, with any reference, except the registrar's zones. */
async function zonesOf({ client, sdk }: Route53, name: string): Promise<HostedZone[]> {
  const found: HostedZone[] = [];
  let start: ListHostedZonesByNameRequest | undefined = { DNSName: toRoute53Name(name) };
  while (start) {
    const command = new sdk.ListHostedZonesByNameCommand({ ...start, MaxItems: pageSize });
    const answer: ListHostedZonesByNameResponse = await client.send(command);
    const { NextDNSName = "", NextHostedZoneId } = answer;
    found.push(...requireValue(answer.HostedZones).filter((zone) => fromRoute53Name(zone.Name ?? "") === name));
    const isMore = requireValue(answer.IsTruncated) && fromRoute53Name(NextDNSName) === name;
    start = isMore ? { DNSName: NextDNSName, HostedZoneId: NextHostedZoneId } : undefined;
  }
  return found.filter(
    ({ Config, CallerReference = "" }) => !Config?.PrivateZone && !CallerReference.startsWith(registrarsPrefix),
  );
}

const idOf = (zone: HostedZone | undefined): string => requireValue(zone?.Id).replace("/hostedzone/", "");

/**
 * The id of the zone that was made with this reference; undefined when the name has no zone. Throws `ZoneExists` when
 * the name has another zone.
 */
async function findZone(route53: Route53, { name, reference }: NewZone): Promise<string | undefined> {
  const zones = await zonesOf(route53, name);
  const own = zones.find(({ CallerReference }) => CallerReference === reference);
  if (own) return idOf(own);
  if (zones.length > 0) throw new ZoneExists(`Another zone of ${name} exists.`);
  return undefined;
}

async function makeZone(route53: Route53, input: NewZone, delegationSetId: string | undefined): Promise<string> {
  const { client, sdk } = route53;
  const { name, reference } = input;
  const command = new sdk.CreateHostedZoneCommand({
    Name: toRoute53Name(name),
    CallerReference: reference,
    DelegationSetId: delegationSetId,
  });
  try {
    return idOf((await client.send(command)).HostedZone);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "HostedZoneAlreadyExists") {
      const found = await findZone(route53, input);
      // The zone was made a moment ago and is not listed yet.
      if (found === undefined) throw route53Unavailable();
      return found;
    }
    if (code === "ConflictingDomainExists") {
      const found = await findZone(route53, input);
      if (found !== undefined) return found;
      throw new ZoneConflict(`The same nameservers have a zone of a parent or subdomain of ${name}.`, { cause: error });
    }
    if (code === "NoSuchDelegationSet" || code === "DelegationSetNotReusable") {
      throw new Error("DNS_DELEGATION_SET is not a reusable delegation set.", { cause: error });
    }
    throw error;
  }
}

/**
 * Creates a zone, or finds the zone that was made with this reference, and sets its apex NS RRset. Throws `ZoneExists`
 * if the name has a zone with another reference. Route 53 can make a second zone of such a name without an error. So
 * the zones of the name are listed first.
 */
async function createZone(
  route53: Route53,
  input: NewZone,
  delegationSetId: string | undefined,
): Promise<{ zoneId: string }> {
  const zoneId = (await findZone(route53, input)) ?? (await makeZone(route53, input, delegationSetId));
  const apex = setOf({
    name: input.name,
    type: "NS",
    ttl: apexTtlSeconds,
    data: input.nameservers.map((host) => ({ type: "NS", host })),
  });
  await sendChanges(route53, zoneId, [{ Action: "UPSERT", ResourceRecordSet: apex }]);
  return { zoneId };
}

/** Removes all RRsets except the SOA and NS at the apex, which every zone has. */
async function empty(route53: Route53, zoneId: string): Promise<void> {
  for (let isMore = true; isMore;) {
    const { sets, next } = await listSets(route53, zoneId, { MaxItems: mostSets });
    const apex = requireValue(sets.find(({ Type }) => Type === "SOA")?.Name);
    const isKept = ({ Name, Type }: ResourceRecordSet): boolean => Name === apex && (Type === "SOA" || Type === "NS");
    const gone = sets.filter((set) => !isKept(set));
    for (const batch of batchesOf(gone.map((set) => ({ Action: "DELETE", ResourceRecordSet: set })))) {
      await sendChanges(route53, zoneId, batch);
    }
    isMore = next !== undefined && gone.length > 0;
  }
}

const mostAttempts = 3;

/** Empties a zone and deletes it. Starts again, up to two times, if the zone changes meanwhile. */
async function deleteZone(route53: Route53, zoneId: string): Promise<void> {
  const { client, sdk } = route53;
  for (let attempt = 1; ; attempt++) {
    try {
      await empty(route53, zoneId);
      await client.send(new sdk.DeleteHostedZoneCommand({ Id: zoneId }));
      return;
    } catch (error) {
      if (codeOf(error) === "NoSuchHostedZone") return;
      const isChanged = isInvalidBatch(error) || codeOf(error) === "HostedZoneNotEmpty";
      if (!isChanged || attempt === mostAttempts) throw error;
    }
  }
}
