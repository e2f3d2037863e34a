import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIP } from "node:net";

import type { Endpoint } from "../core/endpoint.ts";
import type { Budget } from "./budget.ts";
import { encodeQuery, rcode, readMessage, type Message } from "./message.ts";
import { wireName } from "./wire-name.ts";

/** One query in wire format. `isAnswer` tests whether a message is the answer to this query. */
type DnsQuery = { bytes: Buffer; isAnswer: (message: Message) => boolean };

const longestUdpBytes = 4_096;
const longestTcpBytes = 16_384;

/**
 * Sends a query from a new socket, and so from a new port, and waits for the answer. Undefined when no answer came in
 * time or nothing listens. Messages that are not the answer to this query are ignored (RFC 5452 §4).
 */
function askByUdp({ address, port }: Endpoint, query: DnsQuery, timeoutMs: number): Promise<Message | undefined> {
  return new Promise((settle) => {
    const socket = createSocket(isIP(address) === 6 ? "udp6" : "udp4");
    let isDone = false;
    const end = (message?: Message): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      socket.close();
      settle(message);
    };
    const timer = setTimeout(end, timeoutMs);
    socket.on("error", () => end());
    socket.on("message", (bytes) => {
      if (bytes.length < 2 || bytes.length > longestUdpBytes || !hasIdOf(query.bytes, bytes)) return;
      const message = readMessage(bytes);
      if (message && query.isAnswer(message)) end(message);
    });
    // The socket is connected, so that the kernel drops messages from other addresses.
    socket.connect(port, address, (error?: Error) => (error || isDone ? end() : socket.send(query.bytes)));
  });
}

const hasIdOf = (query: Buffer, bytes: Buffer): boolean => bytes.readUInt16BE(0) === query.readUInt16BE(0);

/**
 * Sends a query over TCP (RFC 7766). Undefined when no message came in time, or the first message is too long or not
 * the answer.
 */
function askByTcp({ address, port }: Endpoint, query: DnsQuery, timeoutMs: number): Promise<Message | undefined> {
  return new Promise((settle) => {
    const socket = connect({ host: address, port });
    let received = Buffer.alloc(0);
    const end = (message?: Message): void => {
      clearTimeout(timer);
      socket.destroy();
      settle(message);
    };
    const timer = setTimeout(end, timeoutMs);
    socket.on("error", () => end());
    socket.on("close", () => end());
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2) return;
      const length = received.readUInt16BE(0);
      if (length > longestTcpBytes) return end();
      if (received.length < 2 + length) return;
      const message = readMessage(received.subarray(2, 2 + length));
      end(message && query.isAnswer(message) ? message : undefined);
    });
    socket.write(framed(query.bytes));
  });
}

/** Puts the length before a message, as DNS over TCP requires (RFC 1035 §4.2.2). */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** A question of class IN. The name must come from `wireName`. */
export type Question = { name: string; type: string };

type Limits = { budget: Budget; tryTimeoutMs: number };

/**
 * Whether a message is an error without the question. Servers that do not understand a query may leave the question out
 * of their answer (RFC 6891 §7).
 */
const isBareComplaint = ({ questions, rcode: code }: Message): boolean =>
  questions.length === 0 && code !== rcode.noError && code !== rcode.nxDomain;

/** Whether a message has the question that was asked, and no other question. */
function hasQuestion({ questions }: Message, { name, type }: Question): boolean {
  const [asked] = questions;
  if (!asked || questions.length > 1) return false;
  return asked.type === type && asked.class === "IN" && wireName(asked.name) === name;
}

function queryOf(question: Question, hasEdns: boolean): DnsQuery {
  const id = randomInt(0x10000);
  return {
    bytes: encodeQuery({ id, ...question, hasEdns }),
    isAnswer: (message) =>
      message.id === id &&
      message.isResponse &&
      message.opcode === 0 &&
      (hasQuestion(message, question) || isBareComplaint(message)),
  };
}

/**
 * Asks one server. Undefined if it did not answer, or the budget is used up. Each message uses the budget.
 * - The first query is by UDP with EDNS.
 * - If the server does not know EDNS, the query is repeated without it.
 * - If the answer was truncated, the query is repeated by TCP (RFC 7766 §5).
 */
export async function ask(endpoint: Endpoint, question: Question, limits: Limits): Promise<Message | undefined> {
  const { budget, tryTimeoutMs } = limits;
  const send = async (by: typeof askByUdp, hasEdns: boolean): Promise<Message | undefined> => {
    if (!budget.take()) return undefined;
    return by(endpoint, queryOf(question, hasEdns), Math.min(tryTimeoutMs, budget.remainingMs()));
  };
  const first = await send(askByUdp, true);
  const isWithoutEdns = first?.rcode === rcode.formErr || first?.rcode === rcode.badVers;
  const answer = isWithoutEdns ? await send(askByUdp, false) : first;
  return answer?.isTruncated ? send(askByTcp, !isWithoutEdns) : answer;
}
