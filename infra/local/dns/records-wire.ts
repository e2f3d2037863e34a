import type { Answer, CaaData } from "dns-packet";

import { characterStrings } from "../../../shared/dns/character-string.ts";
import type { RecordData, RecordType } from "../../../shared/dns/rrset.ts";
import { readSvcParams, svcParamsWire } from "../../../shared/dns/svcb.ts";
import { soaOf, type SoaOwner, soaTtlSeconds } from "../../../shared/providers/dns/dns.ts";

type ServedData = RecordData | { type: "PTR"; host: string };

/** The records of one name and type, as the local DNS servers answer them. */
export type ServedRRset = { name: string; type: RecordType | "PTR"; ttl: number; data: readonly ServedData[] };

/** The names that `dns-packet` uses for types that it knows only by their number. */
const unknownTypes = { SVCB: "UNKNOWN_64", HTTPS: "UNKNOWN_65" } as const;

/** The DNS mnemonic of a type, from the name that `dns-packet` uses. */
export const mnemonicOf = (type: string): string =>
  Object.entries(unknownTypes).find(([, unknown]) => unknown === type)?.[0] ?? type;

/** The data of an SVCB or HTTPS record (RFC 9460 §2.2). */
function serviceWire({ priority, host, params }: Extract<RecordData, { type: "HTTPS" | "SVCB" }>): Buffer {
  const read = readSvcParams(params);
  if ("fault" in read) throw new Error(read.fault);
  const labels = host === "" ? [] : host.split(".");
  const target = labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([
    Buffer.from([priority >> 8, priority & 0xff]),
    ...target,
    Buffer.alloc(1),
    svcParamsWire(read.params),
  ]);
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
    case "TLSA": {
      const [usage, selector, matchingType, hex = ""] = data.value.split(" ");
      const certificate = Buffer.from(hex, "hex");
      const numbers = { usage: Number(usage), selector: Number(selector), matchingType: Number(matchingType) };
      return { name, ttl, type: "TLSA", data: { ...numbers, certificate } };
    }
    case "SSHFP": {
      const [algorithm, hash, fingerprint = ""] = data.value.split(" ");
      return { name, ttl, type: "SSHFP", data: { algorithm: Number(algorithm), hash: Number(hash), fingerprint } };
    }
    case "HTTPS":
    case "SVCB":
      // The TypeScript types of `dns-packet` lack `UNKNOWN_<number>`. The record's data are bytes, as for NULL.
      return { name, ttl, type: unknownTypes[data.type] as "NULL", data: serviceWire(data) };
    default: {
      const { flags, tag, value } = data;
      return { name, ttl, type: "CAA", data: { flags, tag: tag as CaaData["tag"], value } };
    }
  }
}

/** Converts an RRset to wire records with the name `owner`. For a wildcard, `owner` is the queried name. */
export const wireRecords = ({ name, ttl, data }: ServedRRset, owner = name): Answer[] =>
  data.map((one) => wireRecord(owner, ttl, one));

/** The SOA of a zone as a wire record. */
export const wireSoa = (owner: SoaOwner): Answer => ({
  name: owner.zone === "" ? "." : owner.zone,
  type: "SOA",
  ttl: soaTtlSeconds,
  data: soaOf(owner),
});
