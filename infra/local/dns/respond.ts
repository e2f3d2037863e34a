import { encode, type Answer, type RecordType } from "dns-packet";

import { ourEdns, rcode, readMessage, type Message } from "../../../shared/dns/message.ts";
import { wireName } from "../../../shared/dns/wire-name.ts";
import { mnemonicOf } from "./records-wire.ts";

/** A server's reply to a question, in the sections of RFC 1035 §4.1. */
export type DnsReply = {
  rcode: number;
  isAuthoritative: boolean;
  answers: readonly Answer[];
  authorities: readonly Answer[];
  additionals: readonly Answer[];
};

/** A reply with only a response code. */
export const bareReply = (rcode: number): DnsReply => ({
  rcode,
  isAuthoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
});

const authoritativeBit = 1 << 10;
const truncatedBit = 1 << 9;
const recursionDesiredBit = 1 << 8;

const knownClasses: ReadonlySet<string> = new Set(["IN", "CS", "CH", "HS", "ANY"]);

/**
 * The question that the answer repeats, in its original case. Empty unless there is exactly one question, and
 * `dns-packet` can encode it.
 */
function echoOf({ questions }: Message): { name: string; type: RecordType; class: "IN" }[] {
  const [question] = questions;
  if (!question || questions.length > 1) return [];
  if (wireName(question.name) === undefined || !knownClasses.has(question.class)) return [];
  return [{ name: question.name, type: question.type as RecordType, class: question.class as "IN" }];
}

function encodeOne(query: Message, reply: DnsReply, isTruncated: boolean): Buffer {
  const flags =
    (query.opcode << 11) |
    (reply.isAuthoritative ? authoritativeBit : 0) |
    (isTruncated ? truncatedBit : 0) |
    (query.isRecursionDesired ? recursionDesiredBit : 0) |
    (reply.rcode & 0xf);
  return encode({
    type: "response",
    id: query.id,
    flags,
    questions: echoOf(query),
    answers: [...reply.answers],
    authorities: [...reply.authorities],
    additionals: [...reply.additionals, ...(query.edns.length > 0 ? [ourEdns(reply.rcode >> 4)] : [])],
  });
}

/**
 * Encodes a reply in at most `maxBytes`. Leaves the additional records out of a longer reply. If that is not enough,
 * leaves all records out and sets the flag TC (RFC 2181 §9). A referral keeps all its addresses or gets the flag TC,
 * because a referral without the addresses may be useless (RFC 9471).
 */
function encodeReply(query: Message, reply: DnsReply, maxBytes: number): Buffer {
  const isReferral = !reply.isAuthoritative && reply.authorities.length > 0;
  const whole = encodeOne(query, reply, false);
  if (whole.length <= maxBytes) return whole;
  const withoutAdditionals = encodeOne(query, { ...reply, additionals: [] }, false);
  if (withoutAdditionals.length <= maxBytes && !isReferral) return withoutAdditionals;
  return encodeOne(query, { ...reply, answers: [], authorities: [], additionals: [] }, true);
}

/** The reply FORMERR to a malformed message. The reply repeats only the id of the message. */
const encodeFormErr = (id: number): Buffer => encode({ type: "response", id, flags: rcode.formErr });

/**
 * A question of class IN. `name` is in lower case, without a final dot, and empty for the root. `type` is a mnemonic
 * such as `MX`, or `UNKNOWN_<number>`.
 */
export type DnsQuestion = { name: string; type: string };

export type DnsAnswer = (question: DnsQuestion) => Promise<DnsReply>;

/**
 * The types of questions that the server refuses, because they do not ask for one type of records of a name:
 * - types of the protocol itself: OPT, TKEY, TSIG, and the reserved type 0,
 * - zone transfers: IXFR and AXFR,
 * - the obsolete questions for mailbox data: MAILB (253) and MAILA (254).
 */
const refusedTypes: ReadonlySet<string> = new Set([
  "OPT",
  "TKEY",
  "TSIG",
  "IXFR",
  "AXFR",
  "UNKNOWN_0",
  "UNKNOWN_253",
  "UNKNOWN_254",
]);

const longestUdpBytes = 4_096;
const longestTcpBytes = 65_535;

async function replyTo(query: Message, answer: DnsAnswer): Promise<DnsReply> {
  const [question] = query.questions;
  const [edns] = query.edns;
  if (query.opcode !== 0) return bareReply(rcode.notImp);
  if (!question || query.questions.length > 1 || query.edns.length > 1) return bareReply(rcode.formErr);
  if (edns && edns.version > 0) return bareReply(rcode.badVers);
  const name = wireName(question.name);
  if (name === undefined || question.class !== "IN" || refusedTypes.has(question.type)) return bareReply(rcode.refused);
  return answer({ name, type: mnemonicOf(question.type) });
}

function maxBytesOf({ edns }: Message, transport: "udp" | "tcp"): number {
  if (transport === "tcp") return longestTcpBytes;
  return Math.min(Math.max(512, edns[0]?.payloadBytes ?? 0), longestUdpBytes);
}

export type RespondOptions = {
  answer: DnsAnswer;
  /** Called with an error of `answer`. The client gets SERVFAIL. */
  onError?: (error: unknown) => void;
};

/**
 * Answers one message. Never rejects.
 * - No answer: a message that is itself a response, or has fewer than 3 bytes.
 * - FORMERR: a malformed message, not exactly one question, or several OPT records.
 * - NOTIMP: an opcode other than QUERY.
 * - BADVERS: an EDNS version above 0.
 * - REFUSED: a class other than IN, a type in `refusedTypes`, or a name that is not a valid host or record name.
 * - SERVFAIL: an error of `answer`.
 */
export async function respondTo(
  bytes: Buffer,
  transport: "udp" | "tcp",
  { answer, onError }: RespondOptions,
): Promise<Buffer | undefined> {
  if (bytes.length < 3 || (bytes.readUInt8(2) & 0x80) !== 0) return undefined;
  const query = readMessage(bytes);
  if (!query) return encodeFormErr(bytes.readUInt16BE(0));
  try {
    const reply = await replyTo(query, answer);
    return encodeReply(query, reply, maxBytesOf(query, transport));
  } catch (error) {
    onError?.(error);
    return encodeReply(query, bareReply(rcode.servFail), maxBytesOf(query, transport));
  }
}
