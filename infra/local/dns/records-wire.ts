import type { Answer, CaaData } from "dns-packet";

import type { RecordData, RecordType } from "../../../shared/dns/rrset.ts";

type ServedData = RecordData | { type: "PTR"; host: string };

/**
 * The records of one name and type as the local DNS servers give them: those of customers' zones, and those of reverse
 * DNS (PTR, and the A, AAAA and TXT records of hosts).
 */
export type ServedRRset = { name: string; type: RecordType | "PTR"; ttl: number; data: readonly ServedData[] };

const longestStringBytes = 255;

/** Splits a text into one or more character-strings (RFC 1035 §3.3.14). */
function characterStrings(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const count = Math.max(1, Math.ceil(bytes.length / longestStringBytes));
  return Array.from({ length: count }, (_, index) =>
    bytes.subarray(index * longestStringBytes, (index + 1) * longestStringBytes),
  );
}

function wireRecord(name: string, ttl: number, data: ServedData): Answer {
  switch (data.type) {
    case "A":
    case "AAAA":
      return { name, ttl, type: data.type, data: data.address };
    case "CNAME":
    case "NS":
    case "PTR":
      return { name, ttl, type: data.type, data: data.host };
    case "MX":
      return { name, ttl, type: "MX", data: { preference: data.priority, exchange: data.host } };
    case "TXT":
      return { name, ttl, type: "TXT", data: characterStrings(data.text) };
    case "SRV": {
      const { priority, weight, port, host } = data;
      return { name, ttl, type: "SRV", data: { priority, weight, port, target: host } };
    }
    default: {
      const { flags, tag, value } = data;
      return { name, ttl, type: "CAA", data: { flags, tag: tag as CaaData["tag"], value } };
    }
  }
}

/** Converts an RRset to wire records. `owner` is the queried name, which replaces that of a wildcard. */
export const wireRecords = ({ name, ttl, data }: ServedRRset, owner = name): Answer[] =>
  data.map((one) => wireRecord(owner, ttl, one));

/**
 * Makes the SOA of a zone; `""` is the root. The zone has no secondaries, so no server compares its serial. Resolvers
 * cache negative answers for a minute (RFC 2308 §5).
 */
export const soaOf = (zone: string, nameserver: string, serial: number): Answer => ({
  name: zone === "" ? "." : zone,
  type: "SOA",
  ttl: 60,
  data: {
    mname: nameserver,
    rname: zone === "" ? "hostmaster" : `hostmaster.${zone}`,
    serial: serial % 2 ** 32,
    refresh: 3_600,
    retry: 600,
    expire: 604_800,
    minimum: 60,
  },
});
