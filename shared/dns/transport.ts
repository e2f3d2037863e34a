import { createSocket } from "node:dgram";
import { connect, isIP } from "node:net";

import type { Endpoint } from "../core/endpoint.ts";
import { type Message, readMessage } from "./message.ts";

/** One query in wire format, and which messages are its answer. */
export type Query = { bytes: Buffer; isAnswer: (message: Message) => boolean };

const longestUdpBytes = 4_096;
const longestTcpBytes = 16_384;

/**
 * Sends a query from a new socket, so that its port is a new one, and waits for the answer; undefined when none came in
 * time or nobody listens. All that is not the answer is passed over (RFC 5452 §4).
 */
export function askByUdp({ address, port }: Endpoint, query: Query, timeoutMs: number): Promise<Message | undefined> {
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
export function askByTcp({ address, port }: Endpoint, query: Query, timeoutMs: number): Promise<Message | undefined> {
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
