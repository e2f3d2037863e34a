import type { Change, ResourceRecordSet } from "@aws-sdk/client-route-53";
import * as z from "zod";

import { characterStrings } from "../../dns/character-string.ts";
import type { RRset, RecordData, RecordType } from "../../dns/rrset.ts";
import { soaOf, type SoaOwner, soaTtlSeconds, type ZoneChange } from "./dns.ts";
import { type Route53, codeOf, listSets, mostSets, requireValue } from "./route53-client.ts";

/** The most characters of one value, including its escapes. */
const longestValue = 4_000;

/** A byte of a character-string; unprintable bytes, quotes and backslashes become octal codes. */
const escapedByte = (byte: number): string =>
  byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
    ? `\\${byte.toString(8).padStart(3, "0")}`
    : String.fromCharCode(byte);

const quotedString = (bytes: Buffer): string => `"${Array.from(bytes, escapedByte).join("")}"`;

/** Text as one or more character-strings (RFC 1035 §3.3.14). */
const stringsOf = (text: string): string => characterStrings(text).map(quotedString).join(" ");

/** Parameters in presentation format, with octal instead of decimal escapes. */
const octalEscapes = (params: string): string =>
  params.replaceAll(/\\(?:(\d{3})|(.))/g, (_, code: string | undefined, character = "") =>
    escapedByte(code === undefined ? character.charCodeAt(0) : Number(code)),
  );

function textOf(data: RecordData): string {
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
    case "TLSA":
    case "SSHFP":
      return data.value;
    case "HTTPS":
    case "SVCB":
      return `${data.priority} ${data.host}. ${octalEscapes(data.params)}`.trim();
    default:
      return `${data.flags} ${data.tag} ${quotedString(Buffer.from(data.value))}`;
  }
}

/**
 * The data of a record in Route 53's notation: RFC 1035 §5.1, but with octal escapes
 * (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/ResourceRecordTypes.html). Undefined for a value that is
 * too long for Route 53, such as a text of 2,048 bytes with few ASCII characters.
 */
export function valueOf(data: RecordData): string | undefined {
  const value = textOf(data);
  return value.length <= longestValue ? value : undefined;
}

/** A name in Route 53's notation, with a dot at the end. */
export const toRoute53Name = (name: string): string => `${name}.`;

/** A name from an answer of Route 53 in our notation. Route 53 escapes all but letters, digits, - and _ in octal. */
export const fromRoute53Name = (name: string): string =>
  name
    .replace(/\\([0-3][0-7]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
    .replace(/\.$/, "")
    .toLowerCase();

/** The limits of one request (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html). */
const limits = { records: 1_000, characters: 32_000 };
type Weight = typeof limits;

/**
 * The most records and characters of one RRset. Route 53 has its own limit of 400 records for an RRset. An RRset that
 * is put counts twice, so it can have half of the characters of a request.
 */
const most = { records: 400, characters: limits.characters / 2 };

/** An RRset in Route 53's form, without the records that are too long or too many for Route 53. */
export function setOf({ name, type, ttl, data }: RRset): ResourceRecordSet {
  const values: { Value: string }[] = [];
  let characters = 0;
  for (const record of data) {
    const Value = valueOf(record);
    if (Value === undefined || values.length === most.records) continue;
    if (characters + Value.length > most.characters) continue;
    characters += Value.length;
    values.push({ Value });
  }
  return { Name: toRoute53Name(name), Type: type, TTL: ttl, ResourceRecords: values };
}

/** The SOA of a zone in Route 53's form. */
function soaSet(owner: SoaOwner): ResourceRecordSet {
  const { mname, rname, serial, refresh, retry, expire, minimum } = soaOf(owner);
  const Value = `${mname}. ${rname}. ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
  return { Name: toRoute53Name(owner.zone), Type: "SOA", TTL: soaTtlSeconds, ResourceRecords: [{ Value }] };
}

type Changed = { changeId: string; isInSync: boolean; refused?: readonly Owner[] };
/** The name and the type of an RRset. */
type Owner = { name: string; type: RecordType };

/** The result when nothing had to be changed. */
const noChange: Changed = { changeId: "none", isInSync: true };

/** Up to this many RRsets are looked up one by one; for more, the zone is read page by page. */
const fewLookups = 3;

/** The records and characters that Route 53 counts for a change; an UPSERT counts twice. */
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

/** Splits changes, in order, into as few requests as can hold them. A change over the limits gets its own request. */
export function batchesOf(changes: readonly Change[]): Change[][] {
  const batches: Change[][] = [];
  let weight: Weight = { records: 0, characters: 0 };
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
  set.Type === type && fromRoute53Name(set.Name ?? "") === name;

/**
 * The current RRsets of these owners, because a deletion must contain the exact RRset. Skips owners without an RRset.
 */
async function currentSets(route53: Route53, zoneId: string, owners: readonly Owner[]): Promise<ResourceRecordSet[]> {
  const found: ResourceRecordSet[] = [];
  if (owners.length <= fewLookups) {
    for (const owner of owners) {
      const start = { StartRecordName: toRoute53Name(owner.name), StartRecordType: owner.type, MaxItems: 1 };
      const { sets } = await listSets(route53, zoneId, start);
      found.push(...sets.filter((set) => isOf(owner, set)));
    }
    return found;
  }
  const wanted = new Set(owners.map(({ name, type }) => `${type} ${name}`));
  let start: Parameters<typeof listSets>[2] | undefined = { MaxItems: mostSets };
  while (start && found.length < owners.length) {
    const { sets, next } = await listSets(route53, zoneId, start);
    found.push(...sets.filter(({ Name = "", Type }) => wanted.has(`${Type} ${fromRoute53Name(Name)}`)));
    start = next;
  }
  return found;
}

/** Sends one batch. Route 53 applies all of its changes or none. */
export async function sendChanges({ client, sdk }: Route53, zoneId: string, changes: Change[]): Promise<Changed> {
  const { ChangeInfo } = await client.send(
    new sdk.ChangeResourceRecordSetsCommand({ HostedZoneId: zoneId, ChangeBatch: { Changes: changes } }),
  );
  return {
    changeId: requireValue(ChangeInfo?.Id).replace("/change/", ""),
    isInSync: requireValue(ChangeInfo?.Status) === "INSYNC",
  };
}

/**
 * The error that the SDK throws for InvalidChangeBatch. Route 53 sends this error in another form than all other
 * errors, so the SDK does not find the error's code.
 */
const InvalidBatchError = z.object({
  name: z.literal("Unknown"),
  $metadata: z.object({ httpStatusCode: z.literal(400) }),
});

/** Whether Route 53 refused a batch because of its content. */
export const isInvalidBatch = (error: unknown): boolean =>
  codeOf(error) === "InvalidChangeBatch" || InvalidBatchError.safeParse(error).success;

/**
 * Makes all changes, in one batch if they fit. A batch has at most 1,000 records and 32,000 characters of values. An
 * RRset that is put counts twice.
 * - First reads the RRsets to remove. If these RRsets change before a batch is sent, reads them again and sends the
 *   changes once more.
 * - Records that are too long or too many for Route 53 are left out, and their RRsets are reported as refused.
 */
export async function change(
  route53: Route53,
  zoneId: string,
  changes: readonly ZoneChange[],
  soa?: SoaOwner,
): Promise<Changed> {
  // The last change of each RRset counts.
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
  // An RRset without a record that Route 53 can hold is removed, because an RRset cannot be empty.
  const isEmptied = ({ rrset, set }: (typeof wanted)[number]): boolean =>
    refused.includes(rrset) && set.ResourceRecords?.length === 0;
  const puts = [...wanted.flatMap((one) => (isEmptied(one) ? [] : [one.set])), ...(soa ? [soaSet(soa)] : [])];
  const removed = [
    ...[...last.values()].flatMap((one) => ("remove" in one ? [one.remove] : [])),
    ...wanted.flatMap((one) => (isEmptied(one) ? [one.rrset] : [])),
  ];
  const attempt = async (): Promise<Changed> => {
    const gone = await currentSets(route53, zoneId, removed);
    // Removals come first, because a CNAME and other RRsets of the same name cannot exist together.
    const batch: Change[] = [
      ...gone.map((set) => ({ Action: "DELETE" as const, ResourceRecordSet: set })),
      ...puts.map((set) => ({ Action: "UPSERT" as const, ResourceRecordSet: set })),
    ];
    let changed = noChange;
    for (const some of batchesOf(batch)) changed = await sendChanges(route53, zoneId, some);
    return refused.length > 0 ? { ...changed, refused } : changed;
  };
  try {
    return await attempt();
  } catch (error) {
    if (removed.length === 0 || !isInvalidBatch(error)) throw error;
    return attempt();
  }
}

/** Whether all servers have a change. True for an old change that Route 53 does not know any more. */
export async function hasArrived({ client, sdk }: Route53, changeId: string): Promise<boolean> {
  if (changeId === noChange.changeId) return true;
  try {
    const { ChangeInfo } = await client.send(new sdk.GetChangeCommand({ Id: changeId }));
    return requireValue(ChangeInfo?.Status) === "INSYNC";
  } catch (error) {
    if (codeOf(error) === "NoSuchChange") return true;
    throw error;
  }
}
