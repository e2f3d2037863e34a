import { decode, encode, type Answer, type DecodedPacket, type OptAnswer, type RecordType } from "dns-packet";

import { answerOwners, isPlain, spelled } from "./owners.ts";
import { wireName } from "./wire-name.ts";

/** The response codes that we send or distinguish (RFC 1035 §4.1.1; 16 is from RFC 6891). */
export const rcode = { noError: 0, formErr: 1, servFail: 2, nxDomain: 3, notImp: 4, refused: 5, badVers: 16 } as const;

/** The largest UDP payload that every network passes without fragments, in bytes (DNS flag day 2020). */
const ednsBytes = 1232;

/**
 * A question as received: the name in the spelling of `dns-packet`, types and classes by mnemonic or
 * `UNKNOWN_<number>`.
 */
type WireQuestion = { name: string; type: string; class: string };

/** A record of class IN, with its name in the form of `wireName`. */
export type WireRecord = Exclude<Answer, OptAnswer>;

/**
 * A record whose name has a label with a dot, or with bytes that are not printable ASCII. `name` is as zone files write
 * it, and `type` is its mnemonic or `UNKNOWN_<number>`.
 */
export type OddRecord = { name: string; type: string };

export type Message = {
  id: number;
  isResponse: boolean;
  opcode: number;
  rcode: number;
  isAuthoritative: boolean;
  isTruncated: boolean;
  isRecursionDesired: boolean;
  questions: readonly WireQuestion[];
  answers: readonly WireRecord[];
  /**
   * The answers that `answers` leaves out, because a label of their name has a dot or bytes that are not printable
   * ASCII.
   */
  oddAnswers: readonly OddRecord[];
  authorities: readonly WireRecord[];
  additionals: readonly WireRecord[];
  /** The contents of the message's OPT records (RFC 6891 §6.1.2); a valid message has one at most. */
  edns: readonly { payloadBytes: number; version: number }[];
};

const headerBytes = 12;

/**
 * Whether a message is long enough for the number of questions and records in its header. A question has at least 5
 * bytes, and a record at least 11. This bounds the memory that `decode` allocates.
 */
function isLongEnough(bytes: Buffer): boolean {
  if (bytes.length < headerBytes) return false;
  const [questions = 0, ...records] = [4, 6, 8, 10].map((offset) => bytes.readUInt16BE(offset));
  const least = questions * 5 + records.reduce((sum, count) => sum + count, 0) * 11;
  return bytes.length - headerBytes >= least;
}

function parsePacket(bytes: Buffer): DecodedPacket | undefined {
  if (!isLongEnough(bytes)) return undefined;
  try {
    const packet = decode(bytes);
    // `decode.bytes` is the position at which decoding ended. If the message was cut off, the position is past the end
    // of the message, or not a number.
    return decode.bytes <= bytes.length ? packet : undefined;
  } catch {
    return undefined;
  }
}

function recordsOf(section: readonly Answer[] | undefined): WireRecord[] {
  return (section ?? []).flatMap((record) => {
    // `dns-packet` reads the highest bit of the class as `flush`, the cache-flush bit of multicast DNS (RFC 6762). In a
    // message of unicast DNS, a record with this bit has another class than IN.
    if (record.type === "OPT" || record.class !== "IN" || record.flush === true) return [];
    const name = wireName(record.name);
    return name === undefined ? [] : [{ ...record, name }];
  });
}

/**
 * Reads a message; undefined when it is malformed. Records of other classes are left out, except in `oddAnswers`. Never
 * throws.
 */
export function readMessage(bytes: Buffer): Message | undefined {
  const packet = parsePacket(bytes);
  const owners = packet && answerOwners(bytes);
  if (!packet || !owners) return undefined;
  const isOdd = (index: number): boolean => owners[index] !== undefined && !isPlain(owners[index]);
  const answers = packet.answers ?? [];
  const flags = packet.flags ?? 0;
  const options = (packet.additionals ?? []).filter((record) => record.type === "OPT");
  return {
    id: packet.id ?? 0,
    isResponse: packet.flag_qr,
    opcode: (flags >> 11) & 0xf,
    // The OPT record has the upper bits of the response code (RFC 6891 §6.1.3).
    rcode: (flags & 0xf) + (options[0]?.extendedRcode ?? 0) * 16,
    isAuthoritative: packet.flag_aa,
    isTruncated: packet.flag_tc,
    isRecursionDesired: packet.flag_rd,
    questions: (packet.questions ?? []).map(({ name, type, class: kind = "IN" }) => ({ name, type, class: kind })),
    answers: recordsOf(answers.filter((_, index) => !isOdd(index))),
    oddAnswers: answers.flatMap((record, index) => {
      const owner = owners[index];
      return owner && isOdd(index) ? [{ name: spelled(owner), type: record.type }] : [];
    }),
    authorities: recordsOf(packet.authorities),
    additionals: recordsOf(packet.additionals),
    edns: options.map(({ udpPayloadSize, ednsVersion }) => ({ payloadBytes: udpPayloadSize, version: ednsVersion })),
  };
}

/** The OPT record that we send. It asks for UDP messages of at most `ednsBytes` (RFC 6891 §6.1). */
export const ourEdns = (extendedRcode = 0): OptAnswer => ({
  type: "OPT",
  name: ".",
  udpPayloadSize: ednsBytes,
  extendedRcode,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
});

/** Encodes a question without recursion (RD=0) in wire format. The name must come from `wireName`. */
export const encodeQuery = (query: { id: number; name: string; type: string; hasEdns: boolean }): Buffer =>
  encode({
    type: "query",
    id: query.id,
    questions: [{ name: query.name, type: query.type as RecordType, class: "IN" }],
    additionals: query.hasEdns ? [ourEdns()] : [],
  });
