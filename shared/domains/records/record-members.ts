import type { RecordType } from "../../dns/rrset.ts";
import { caaTags } from "./caa-value.ts";
import type { Members, RecordFault, RecordInput } from "./record.ts";

type NumberMember = "priority" | "weight" | "port" | "flags";

const defaultTtl = 3_600;
const shortestTtl = 60;
const longestTtl = 86_400;

/** The types that have a member, and what they have when it is not given; `undefined` is what has to be given. */
const rules: Record<NumberMember, { types: Partial<Record<RecordType, number | undefined>>; rule: string }> = {
  priority: { types: { MX: undefined, SRV: undefined }, rule: "a whole number from 0 to 65535" },
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
    return given === undefined ? {} : { fault: `${member} is only for ${Object.keys(types).join(" and ")} records` };
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

/** Reads all members but name and value: each is there if and only if the type has it. */
export function readMembers(input: RecordInput): { members: Members; faults: RecordFault[] } {
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
