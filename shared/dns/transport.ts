import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIP } from "node:net";

import type { Endpoint } from "../core/endpoint.ts";
import type { Budget } from "./budget.ts";
import { encodeQuery, rcode, readMessage, type Message } from "./message.ts";
import { wireName } from "./wire-name.ts";

/** One query in wire format, and which messages are its answer. */
type Query = { bytes: Buffer; isAnswer: (message: Message) => boolean };

const longestUdpBytes = 4_096;
const longestTcpBytes = 16_384;

/**
 * Sends a query from a new socket, so that its port is a new one, and waits for the answer; undefined when none came in
 * time or nobody listens. All that is not the answer is passed over (RFC 5452 §4).
 */
function askByUdp({ address, port }: Endpoint, query: Query, timeoutMs: number): Promise<Message | undefined> {
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
    // Connected: the kernel hands us nothing that another address sent.
    socket.connect(port, address, (error?: Error) => (error || isDone ? end() : socket.send(query.bytes)));
  });
}

const hasIdOf = (query: Buffer, bytes: Buffer): boolean => bytes.readUInt16BE(0) === query.readUInt16BE(0);

/** Sends a query over a connection (RFC 7766); undefined when the first message that came in time is not its answer. */
function askByTcp({ address, port }: Endpoint, query: Query, timeoutMs: number): Promise<Message | undefined> {
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

/** A message with its length before it, as it goes over TCP (RFC 1035 §4.2.2). */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** What is asked, of class IN. The name is one that `wireName` gave. */
export type Question = { name: string; type: string };

type Limits = { budget: Budget; tryTimeoutMs: number };

/** Servers that know only part of the protocol leave the question out when they complain (RFC 6891 §7). */
const isBareComplaint = ({ questions, rcode: code }: Message): boolean =>
  questions.length === 0 && code !== rcode.noError && code !== rcode.nxDomain;

function repeats({ questions }: Message, { name, type }: Question): boolean {
  const [asked] = questions;
  if (!asked || questions.length > 1) return false;
  return asked.type === type && asked.class === "IN" && wireName(asked.name) === name;
}

function queryOf(question: Question, hasEdns: boolean): Query {
  const id = randomInt(0x10000);
  return {
    bytes: encodeQuery({ id, ...question, hasEdns }),
    isAnswer: (message) =>
      message.id === id &&
      message.isResponse &&
      message.opcode === 0 &&
      (repeats(message, question) || isBareComplaint(message)),
  };
}

/**
 * Asks one server: by UDP with EDNS, without EDNS if it does not know that, by TCP if the answer was cut off
 * (RFC 7766 §5). Undefined when it did not answer, or the budget ended. Every message sent is taken out of the budget.
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
