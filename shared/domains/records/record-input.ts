import type { Reading } from "../../core/reading.ts";
import { readMembers } from "./record-members.ts";
import { readRecordName } from "./record-name.ts";
import { readValue } from "./record-value.ts";
import type { ParsedRecord, RecordFault, RecordInput } from "./record.ts";

/** What a type has against a name that is one. */
function ownerFault({ type }: RecordInput, name: string, zone: string): string | undefined {
  if (type === "CNAME" && name === "@") {
    return `${zone} itself cannot be a CNAME, because it has other records: use A and AAAA records, or a name such as www`;
  }
  if (type === "NS" && name === "@") {
    return `The nameservers of ${zone} itself are set: an NS record delegates a name below it, such as sub`;
  }
  if (type === "NS" && name.startsWith("*")) return "A wildcard cannot be delegated: write the name to delegate";
  if (type === "SRV" && !/^_[a-z0-9-]+\._[a-z0-9-]+(?:\.|$)/.test(name)) {
    return "The name of an SRV record is its service and protocol, such as _sip._tcp or _sip._tcp.sub";
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
 * Reads a record as a customer writes it, for a zone named in lower-case A-labels, into its one normal form, or says
 * all that is wrong with it. Reading a normal form gives it again. Spaces around names and values do not matter, but
 * in the text of TXT records. Addresses may be of any network, private ones too: people do point names at them.
 * What other records have against it is `conflictOf`'s to say.
 */
export function parseRecord(input: RecordInput, zone: string): { record: ParsedRecord } | { faults: RecordFault[] } {
  const { members, faults: memberFaults } = readMembers(input);
  const name = readName(input, zone);
  const ownName = "fault" in name ? undefined : name.value;
  const value = readValue(input, { name: ownName, zone, tag: members.tag });
  const faults: RecordFault[] = [...memberFaults];
  if (input.type === "MX" && "value" in value && value.value === "." && (members.priority ?? 0) !== 0) {
    faults.unshift({
      member: "priority",
      message: 'priority must be 0 beside the value ".", which refuses all mail (RFC 7505)',
    });
  }
  if ("fault" in value) faults.unshift({ member: "value", message: value.fault });
  if ("fault" in name) faults.unshift({ member: "name", message: name.fault });
  if (faults.length > 0 || "fault" in name || "fault" in value) return { faults };
  return { record: { name: name.value, type: input.type, value: value.value, ...members } };
}
