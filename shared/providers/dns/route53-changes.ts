import type { Change, ResourceRecordSet } from "@aws-sdk/client-route-53";
import * as z from "zod";

import type { RRset, RecordData, RecordType } from "../../dns/rrset.ts";
import type { ZoneChange } from "./dns.ts";
import { type Route53, codeOf, listSets, mostSets, told } from "./route53-client.ts";

const longestString = 255;
/** The most characters of one value, escapes included. */
const longestValue = 4_000;

/** A byte of a character-string; unprintable bytes, quotes and backslashes become octal codes. */
const written = (byte: number): string =>
  byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
    ? `\\${byte.toString(8).padStart(3, "0")}`
    : String.fromCharCode(byte);

const quoted = (bytes: Buffer): string => `"${Array.from(bytes, written).join("")}"`;

/** Text as one or more character-strings (RFC 1035 §3.3.14). */
function stringsOf(text: string): string {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / longestString));
  return Array.from({ length: count }, (_, index) =>
    quoted(bytes.subarray(index * longestString, (index + 1) * longestString)),
  ).join(" ");
}

function unchecked(data: RecordData): string {
  switch (data.type) {
    case "A":
    case "AAAA":
      return data.address;
    case "CNAME":
    case "NS":
      return `${data.host}.`;
    case "MX":
      return `${data.priority} ${data.host}.`;
    case "TXT":
      return stringsOf(data.text);
    case "SRV":
      return `${data.priority} ${data.weight} ${data.port} ${data.host}.`;
    default:
      return `${data.flags} ${data.tag} ${quoted(Buffer.from(data.value))}`;
  }
}

/**
 * The data of a record in Route 53's notation: RFC 1035 §5.1, but with octal codes
 * (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/ResourceRecordTypes.html). Undefined for a value longer
 * than Route 53 takes, such as a text of 2,048 bytes that are mostly not ASCII.
 */
export function valueOf(data: RecordData): string | undefined {
  const value = unchecked(data);
  return value.length <= longestValue ? value : undefined;
}

/** A name in Route 53's notation, with a dot at the end. */
export const absolute = (name: string): string => `${name}.`;

/** A name in our notation, from Route 53's answers, which write all but letters, digits, - and _ as octal codes. */
export const relaxed = (name: string): string =>
  name
    .replace(/\\([0-3][0-7]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
    .replace(/\.$/, "")
    .toLowerCase();

/** An RRset in Route 53's form, without the records that are too long for Route 53. */
export const setOf = ({ name, type, ttl, data }: RRset): ResourceRecordSet => ({
  Name: absolute(name),
  Type: type,
  TTL: ttl,
  ResourceRecords: data.flatMap((record) => {
    const Value = valueOf(record);
    return Value === undefined ? [] : [{ Value }];
  }),
});

type Changed = { changeId: string; isInSync: boolean; refused?: readonly Owner[] };
type Owner = { name: string; type: RecordType };

/** The result when nothing had to be changed. */
const nothing: Changed = { changeId: "none", isInSync: true };

/** Up to this many RRsets are looked up one by one; for more, the whole zone is read. */
const fewLookups = 3;

/** The limits of one request (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html). */
const limits = { records: 1_000, characters: 32_000 };
type Weight = typeof limits;

/** The records and characters that a change adds to a request; an UPSERT counts twice. */
function weightOf({ Action, ResourceRecordSet: set }: Change): Weight {
  const values = set?.ResourceRecords ?? [];
  const times = Action === "UPSERT" ? 2 : 1;
  const characters = values.reduce((sum, { Value = "" }) => sum + Value.length, 0);
  return { records: times * values.length, characters: times * characters };
}

const sum = (a: Weight, b: Weight): Weight => ({
  records: a.records + b.records,
  characters: a.characters + b.characters,
});

const fits = ({ records, characters }: Weight): boolean => records <= limits.records && characters <= limits.characters;

/**
 * Splits changes, in order, into as few requests as can hold them. A change over the limits gets a request of its own.
 */
export function batchesOf(changes: readonly Change[]): Change[][] {
  const batches: Change[][] = [];
  let weight = limits;
  for (const change of changes) {
    const own = weightOf(change);
    const batch = batches.at(-1);
    weight = sum(weight, own);
    if (batch && fits(weight)) {
      batch.push(change);
    } else {
      batches.push([change]);
      weight = own;
    }
  }
  return batches;
}

const isOf = ({ name, type }: Owner, set: ResourceRecordSet): boolean =>
  set.Type === type && relaxed(set.Name ?? "") === name;

/** The current RRsets of these owners, which a deletion has to repeat exactly. Owners without an RRset are left out. */
async function currentSets(route53: Route53, zoneId: string, owners: readonly Owner[]): Promise<ResourceRecordSet[]> {
  const found: ResourceRecordSet[] = [];
  if (owners.length <= fewLookups) {
    for (const owner of owners) {
      const start = { StartRecordName: absolute(owner.name), StartRecordType: owner.type, MaxItems: 1 };
      const { sets } = await listSets(route53, zoneId, start);
      found.push(...sets.filter((set) => isOf(owner, set)));
    }
    return found;
  }
  const wanted = new Set(owners.map(({ name, type }) => `${type} ${name}`));
  let start: Parameters<typeof listSets>[2] | undefined = { MaxItems: mostSets };
  while (start && found.length < owners.length) {
    const { sets, next } = await listSets(route53, zoneId, start);
    found.push(...sets.filter(({ Name = "", Type }) => wanted.has(`${Type} ${relaxed(Name)}`)));
    start = next;
  }
  return found;
}

/** Sends one batch, which is done as a whole or not at all. */
export async function send({ client, sdk }: Route53, zoneId: string, changes: Change[]): Promise<Changed> {
  const { ChangeInfo } = await client.send(
    new sdk.ChangeResourceRecordSetsCommand({ HostedZoneId: zoneId, ChangeBatch: { Changes: changes } }),
  );
  return { changeId: told(ChangeInfo?.Id).replace("/change/", ""), isInSync: told(ChangeInfo?.Status) === "INSYNC" };
}

/**
 * An error whose code the SDK does not find: InvalidChangeBatch comes in a form of its own, which the SDK does not
 * read.
 */
const Unread = z.object({ name: z.literal("Unknown"), $metadata: z.object({ httpStatusCode: z.literal(400) }) });

/** Whether Route 53 refused a batch because of its content. */
export const isInvalidBatch = (error: unknown): boolean =>
  codeOf(error) === "InvalidChangeBatch" || Unread.safeParse(error).success;

/**
 * Makes all changes in one batch.
 * - RRsets to remove are read first, and read once more when they changed in the meantime.
 * - Throws for more than one batch can hold: 1,000 records and 32,000 characters of values, where an RRset that is put
 *   counts twice.
 * - Records that are too long for Route 53 are left out and reported as refused.
 */
export async function change(route53: Route53, zoneId: string, changes: readonly ZoneChange[]): Promise<Changed> {
  const last = new Map(
    changes.map((one) => {
      const { type, name } = "put" in one ? one.put : one.remove;
      return [`${type} ${name}`, one] as const;
    }),
  );
  const wanted = [...last.values()].flatMap((one) => ("put" in one ? [{ rrset: one.put, set: setOf(one.put) }] : []));
  const refused = wanted.flatMap(({ rrset, set }) =>
    set.ResourceRecords?.length === rrset.data.length ? [] : [rrset],
  );
  const isEmptied = ({ rrset, set }: (typeof wanted)[number]): boolean =>
    refused.includes(rrset) && set.ResourceRecords?.length === 0;
  const puts = wanted.flatMap((one) => (isEmptied(one) ? [] : [one.set]));
  const removed = [
    ...[...last.values()].flatMap((one) => ("remove" in one ? [one.remove] : [])),
    ...wanted.flatMap((one) => (isEmptied(one) ? [one.rrset] : [])),
  ];
  const attempt = async (): Promise<Changed> => {
    const gone = await currentSets(route53, zoneId, removed);
    // Removals come first, as a CNAME and other RRsets of the same name cannot exist together.
    const batch: Change[] = [
      ...gone.map((set) => ({ Action: "DELETE" as const, ResourceRecordSet: set })),
      ...puts.map((set) => ({ Action: "UPSERT" as const, ResourceRecordSet: set })),
    ];
    if (!fits(batch.map(weightOf).reduce(sum, { records: 0, characters: 0 }))) {
      throw new Error("These changes are more than one request to Route 53 can hold.");
    }
    const changed = batch.length > 0 ? await send(route53, zoneId, batch) : nothing;
    return refused.length > 0 ? { ...changed, refused } : changed;
  };
  try {
    return await attempt();
  } catch (error) {
    if (removed.length === 0 || !isInvalidBatch(error)) throw error;
    return attempt();
  }
}

/** Whether all servers have a change; true for a change that is too old for Route 53 to know. */
export async function hasArrived({ client, sdk }: Route53, changeId: string): Promise<boolean> {
  if (changeId === nothing.changeId) return true;
  try {
    const { ChangeInfo } = await client.send(new sdk.GetChangeCommand({ Id: changeId }));
    return told(ChangeInfo?.Status) === "INSYNC";
  } catch (error) {
    if (codeOf(error) === "NoSuchChange") return true;
    throw error;
  }
}
