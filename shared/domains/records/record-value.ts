import type { Reading } from "../../core/reading.ts";
import type { RecordType } from "../../dns/rrset.ts";
import { readIpv4, readIpv6 } from "./address-value.ts";
import { readCaaValue } from "./caa-value.ts";
import { readHostName } from "./host-name.ts";
import { absoluteName } from "./record-name.ts";
import { readTextValue } from "./text-value.ts";

/** What is around the value: the record's name if it could be read, the zone, and the tag of a CAA record. */
type Around = { name: string | undefined; zone: string; tag: string | undefined };

/** The host of an MX or SRV record; `.` says that there is none (RFC 7505, RFC 2782). */
function readServer(type: "MX" | "SRV", value: string, zone: string): Reading {
  const text = value.trim();
  if (text === ".") return { value: "." };
  const numbers =
    type === "MX" ? "priority is a member of its own" : "priority, weight and port are members of their own";
  if (/^\d+\s/.test(text)) return { fault: `Write only the host here: ${numbers}` };
  return readHostName(text, { zone, underscores: false });
}

/** The host of a CNAME or NS record, which is another than the record's own name. */
function readAlias(type: "CNAME" | "NS", value: string, { name, zone }: Around): Reading {
  const read = readHostName(value, { zone, underscores: type === "CNAME" });
  if ("fault" in read || name === undefined || read.value !== absoluteName(name, zone)) return read;
  if (type === "CNAME") return { fault: `${read.value} would be an alias of itself: write the name it leads to` };
  return { fault: `${read.value} cannot be its own nameserver: beside NS records it has no address` };
}

/** Reads a record's value by its type into its one normal form. */
export function readValue({ type, value }: { type: RecordType; value: string }, around: Around): Reading {
  switch (type) {
    case "A":
      return readIpv4(value);
    case "AAAA":
      return readIpv6(value);
    case "CNAME":
    case "NS":
      return readAlias(type, value, around);
    case "MX":
    case "SRV":
      return readServer(type, value, around.zone);
    case "TXT":
      return readTextValue(value, around.name);
    default:
      // A CAA record; without a tag it is not known what its value should be.
      return around.tag === undefined ? { value } : readCaaValue(around.tag, value);
  }
}
