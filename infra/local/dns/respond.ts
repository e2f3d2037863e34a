import { type Message, rcode, readMessage } from "../../../shared/dns/message.ts";
import { wireName } from "../../../shared/dns/wire-name.ts";
import { type DnsReply, bareReply, encodeFormErr, encodeReply } from "./reply.ts";

/** What is asked, of class IN: a name as `wireName` gives it, and a type by its mnemonic or `UNKNOWN_<number>`. */
export type DnsQuestion = { name: string; type: string };

export type DnsAnswer = (question: DnsQuestion) => Promise<DnsReply>;

/** Types that ask for more than records of a name: transfers, and those of the protocol itself. */
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
  return answer({ name, type: question.type });
}

function maxBytesOf({ edns }: Message, by: "udp" | "tcp"): number {
  if (by === "tcp") return longestTcpBytes;
  return Math.min(Math.max(512, edns[0]?.payloadBytes ?? 0), longestUdpBytes);
}

export type Responding = {
  answer: DnsAnswer;
  /** Told what `answer` threw; the asker gets SERVFAIL. */
  onError?: (error: unknown) => void;
};

/**
 * The response to one message as it came; none to what is a response itself or has no id. Malformed ones get FORMERR,
 * other things than a question NOTIMP, other classes than IN REFUSED. Never rejects.
 */
export async function respondTo(
  bytes: Buffer,
  by: "udp" | "tcp",
  { answer, onError }: Responding,
): Promise<Buffer | undefined> {
  if (bytes.length < 3 || (bytes.readUInt8(2) & 0x80) !== 0) return undefined;
  const query = readMessage(bytes);
  if (!query) return encodeFormErr(bytes.readUInt16BE(0));
  try {
    const reply = await replyTo(query, answer);
    return encodeReply(query, reply, maxBytesOf(query, by));
  } catch (error) {
    onError?.(error);
    return encodeReply(query, bareReply(rcode.servFail), maxBytesOf(query, by));
  }
}
