import * as z from "zod";

import { Id } from "../../core/ids.ts";
import type { Reading } from "../../core/text.ts";
import { RecordType } from "../../dns/rrset.ts";
import { readRecordName } from "./names.ts";
import type { Members, ParsedRecord, RecordFault, RecordInput } from "./record.ts";
import { caaTags, readValue } from "./values.ts";

const sixteenBits = z.int().min(0).max(65_535);

const members = {
  name: z
    .string()
    .min(1)
    .max(300)
    .meta({
      description:
        "The record's name in the domain: `@` is the domain itself, `*` is any name that has no records, `www` is `www` in the domain. A full name in the domain is accepted too.",
      examples: ["www"],
    }),
  value: z
    .string()
    .min(1)
    .max(16_384)
    .meta({
      description:
        "The record's value: an address (A, AAAA), a host name (CNAME, MX, SRV, NS), text (TXT, up to 2,048 bytes), the value of a CAA property, a target with its parameters (HTTPS, SVCB: `. alpn=h2`), or numbers and a hexadecimal text (TLSA: `3 1 1 …`, SSHFP: `4 2 …`).",
      examples: ["192.0.2.1"],
    }),
  ttl: z.int().min(60).max(86_400).meta({
    description:
      "How long resolvers keep the record, in seconds, from 60 to 86,400. The default is 3,600. All records of one name and type get the lowest TTL among them.",
  }),
  priority: sixteenBits.meta({
    description:
      "The priority: required for MX, SRV, HTTPS and SVCB records, refused for others. The lowest is tried first. An HTTPS or SVCB record with 0 is an alias.",
  }),
  weight: sixteenBits.meta({
    description: "The share among SRV records of the same priority. For SRV records only. The default is 0.",
  }),
  port: sixteenBits.meta({ description: "The port of the service: required for SRV records, refused for others." }),
  flags: z
    .int()
    .min(0)
    .max(255)
    .meta({ description: "The flags, for CAA records only: 0, or 128 for critical. The default is 0." }),
  tag: z.string().min(1).max(15).meta({
    description:
      "The property: `issue`, `issuewild`, `issuemail`, `issuevmc`, `iodef`, `contactemail` or `contactphone`. Required for CAA records, refused for others.",
  }),
};

/** The members of a new record. `newRecordFaults` and `parseRecord` check which values the type allows. */
export const newRecord = {
  name: members.name,
  type: RecordType.meta({ description: "The record's type." }),
  value: members.value,
  ttl: members.ttl.optional(),
  priority: members.priority.optional(),
  weight: members.weight.optional(),
  port: members.port.optional(),
  flags: members.flags.optional(),
  tag: members.tag.optional(),
};

/** The members of a record that can change. */
export const changedRecord = {
  name: members.name.optional(),
  value: members.value.optional(),
  ttl: members.ttl.optional(),
  priority: members.priority.optional(),
  weight: members.weight.optional(),
  port: members.port.optional(),
  flags: members.flags.optional(),
  tag: members.tag.optional(),
};

type NumberMember = "priority" | "weight" | "port" | "flags";

const defaultTtl = 3_600;
const shortestTtl = 60;
const longestTtl = 86_400;

/**
 * For each member: the types of records that have the member, with the member's default for the type. If the default is
 * `undefined`, the member is required.
 */
const rules: Record<NumberMember, { types: Partial<Record<RecordType, number | undefined>>; rule: string }> = {
  priority: {
    types: { MX: undefined, SRV: undefined, HTTPS: undefined, SVCB: undefined },
    rule: "a whole number from 0 to 65535",
  },
  weight: { types: { SRV: 0 }, rule: "a whole number from 0 to 65535" },
  port: { types: { SRV: undefined }, rule: "a whole number from 0 to 65535" },
  flags: { types: { CAA: 0 }, rule: "0, or 128 for critical" },
};
const numberMembers = ["priority", "weight", "port", "flags"] as const;

const isIn = (value: number, from: number, to: number): boolean =>
  Number.isInteger(value) && value >= from && value <= to;
const fits = (member: NumberMember, value: number): boolean =>
  member === "flags" ? value === 0 || value === 128 : isIn(value, 0, 65_535);

function readNumber(member: NumberMember, input: RecordInput): { value?: number } | { fault: string } {
  const { types, rule } = rules[member];
  const given = input[member];
  if (!(input.type in types)) {
    return given === undefined ? {} : { fault: `${member} is only for ${Object.keys(types).join(", ")} records` };
  }
  const value = given ?? types[input.type];
  if (value === undefined) return { fault: `${member} is required for ${input.type} records: ${rule}` };
  return fits(member, value) ? { value } : { fault: `${member} must be ${rule}` };
}

function readTag({ type, tag }: RecordInput): { value?: string } | { fault: string } {
  if (type !== "CAA") return tag === undefined ? {} : { fault: "tag is only for CAA records" };
  const known = caaTags.join(", ");
  if (tag === undefined) return { fault: `tag is required for CAA records: one of ${known}` };
  const value = tag.trim().toLowerCase();
  return caaTags.includes(value) ? { value } : { fault: `tag must be one of ${known}` };
}

/** Reads all members except name and value. If there are no faults, the result has exactly the members of the type. */
function readMembers(input: RecordInput): { members: Members; faults: RecordFault[] } {
  const { ttl = defaultTtl } = input;
  const members: Members = { ttl };
  const faults: RecordFault[] = [];
  if (!isIn(ttl, shortestTtl, longestTtl)) {
    faults.push({
      member: "ttl",
      message: `ttl must be a whole number of seconds from ${shortestTtl} to ${longestTtl}`,
    });
  }
  for (const member of numberMembers) {
    const read = readNumber(member, input);
    if ("fault" in read) faults.push({ member, message: read.fault });
    else if (read.value !== undefined) members[member] = read.value;
  }
  const tag = readTag(input);
  if ("fault" in tag) faults.push({ member: "tag", message: tag.fault });
  else if (tag.value !== undefined) members.tag = tag.value;
  return { members, faults };
}

/** The reason why a valid name is not allowed for a type of record; undefined if the name is allowed. */
function ownerFault({ type }: RecordInput, name: string, zone: string): string | undefined {
  if (type === "CNAME" && name === "@") {
    return `${zone} itself cannot be a CNAME, because it has other records. Use A and AAAA records, or a name such as www`;
  }
  if (type === "NS" && name === "@") {
    return `The nameservers of ${zone} itself are fixed. An NS record delegates a name below it, such as sub`;
  }
  if (type === "NS" && name.startsWith("*")) return "A wildcard cannot be delegated. Write the name to delegate";
  if (type === "SRV" && !/^_[a-z0-9-]+\._[a-z0-9-]+(?:\.|$)/.test(name)) {
    return "The name of an SRV record must be its service and protocol, such as _sip._tcp or _sip._tcp.sub";
  }
  return undefined;
}

function readName(input: RecordInput, zone: string): Reading {
  const read = readRecordName(input.name, zone);
  if ("fault" in read) return read;
  const fault = ownerFault(input, read.value, zone);
  return fault === undefined ? read : { fault };
}

/**
 * Brings a customer's record into its normal form, or returns all faults of the record.
 * - `zone` is in lower-case A-labels.
 * - A record in normal form does not change.
 * - Spaces around names and values are ignored, except in the text of TXT records.
 * - Addresses may be of any network. Private addresses are allowed, because people point names at them.
 * - Conflicts with other records are checked by `conflictOf`.
 */
export function parseRecord(input: RecordInput, zone: string): { record: ParsedRecord } | { faults: RecordFault[] } {
  const { members, faults: memberFaults } = readMembers(input);
  const name = readName(input, zone);
  const ownName = "fault" in name ? undefined : name.value;
  const value = readValue(input, { name: ownName, zone, tag: members.tag, priority: members.priority });
  const faults: RecordFault[] = [...memberFaults];
  if (input.type === "MX" && "value" in value && value.value === "." && (members.priority ?? 0) !== 0) {
    faults.unshift({
      member: "priority",
      message: 'priority must be 0 with the value ".", which refuses all mail (RFC 7505)',
    });
  }
  if ("fault" in value) faults.unshift({ member: "value", message: value.fault });
  if ("fault" in name) faults.unshift({ member: "name", message: name.fault });
  if (faults.length > 0 || "fault" in name || "fault" in value) return { faults };
  return { record: { name: name.value, type: input.type, value: value.value, ...members } };
}

/**
 * The faults of a new record that its body alone shows. `domain` is the canonical name of the domain, or its id.
 * - With a name, these are all faults of the record.
 * - With an id, the faults of the record's name are missing. So are the faults of its value, unless the value is an
 *   address. Both can depend on the domain's name.
 */
export function newRecordFaults({ domain, ...input }: RecordInput & { domain: string }): RecordFault[] {
  const isId = Id.safeParse(domain).success;
  const read = parseRecord(input, isId ? "domain.example" : domain);
  if (!("faults" in read)) return [];
  const isAddress = input.type === "A" || input.type === "AAAA";
  return read.faults.filter(({ member }) => !isId || (member !== "name" && (member !== "value" || isAddress)));
}
