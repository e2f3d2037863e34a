import { type Answer, type RecordType, encode } from "dns-packet";

import { type Message, ourEdns, rcode } from "../../../shared/dns/message.ts";
import { wireName } from "../../../shared/dns/wire-name.ts";

/** What a server says of a question; the sections of RFC 1035 §4.1. */
export type DnsReply = {
  rcode: number;
  isAuthoritative: boolean;
  answers: readonly Answer[];
  authorities: readonly Answer[];
  additionals: readonly Answer[];
};

/** A reply that is nothing but its response code. */
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

/** The question as it came, its case too; none where `dns-packet` could not write what it read. */
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
 * A reply in wire format in at most so many bytes: without its additional records if they are too much, or cut off
 * (TC, RFC 2181 §9) to nothing. The addresses in a referral are no extra: without them it may lead nowhere (RFC 9471).
 */
export function encodeReply(query: Message, reply: DnsReply, maxBytes: number): Buffer {
  const isReferral = !reply.isAuthoritative && reply.authorities.length > 0;
  const whole = encodeOne(query, reply, false);
  if (whole.length <= maxBytes) return whole;
  const spare = encodeOne(query, { ...reply, additionals: [] }, false);
  if (spare.length <= maxBytes && !isReferral) return spare;
  return encodeOne(query, { ...reply, answers: [], authorities: [], additionals: [] }, true);
}

/** The reply to bytes of which nothing but the id can be read. */
export const encodeFormErr = (id: number): Buffer => encode({ type: "response", id, flags: rcode.formErr });
