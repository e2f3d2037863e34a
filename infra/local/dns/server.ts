import { type Socket as UdpSocket, createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";

import { framed } from "../../../shared/dns/transport.ts";
import { type RespondOptions, respondTo } from "./respond.ts";

export type DnsServerOptions = RespondOptions & {
  /** The port of both UDP and TCP. 0 chooses a free port. */
  port: number;
  /**
   * Finds another port, as `freePort` does. Called if `port` is in use. Without `onBusyPort`, a port that is in use is
   * an error.
   */
  onBusyPort?: () => Promise<number>;
  /** The longest time that a connection may be idle, in milliseconds. */
  idleTimeoutMs?: number;
};

export type DnsServer = {
  /** The port of both UDP and TCP. */
  port: number;
  /** Stops answering and closes all connections. */
  stop: () => Promise<void>;
};

type Sockets = { udp: UdpSocket; tcp: Server; port: number };

const host = "127.0.0.1";
const maxTries = 10;
const maxConnections = 100;
/** The largest number of bytes of unread answers on a connection. A connection with more unread bytes is closed. */
const maxUnreadBytes = 1_048_576;

async function bindBoth(wanted: number): Promise<Sockets> {
  const tcp = createServer({ allowHalfOpen: true }).listen(wanted, host);
  await once(tcp, "listening");
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket("udp4");
  try {
    udp.bind(port, host);
    await once(udp, "listening");
    return { udp, tcp, port };
  } catch (error) {
    udp.close();
    tcp.close();
    throw error;
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EADDRINUSE";

async function bind({ port: wanted, onBusyPort }: DnsServerOptions): Promise<Sockets> {
  let port = wanted;
  for (let tries = 1; ; tries += 1) {
    try {
      return await bindBoth(port);
    } catch (error) {
      if (!isBusy(error) || tries === maxTries) throw error;
      // With port 0, the kernel chose a port that is free for TCP but not for UDP. The loop asks for another port.
      if (port === 0) continue;
      if (!onBusyPort) throw error;
      port = await onBusyPort();
    }
  }
}

/**
 * Answers the messages of a connection in order (RFC 7766 §6.2.1). Reads no more data until the received messages are
 * answered.
 */
function serveConnection(socket: Socket, respondOptions: RespondOptions, idleTimeoutMs: number): void {
  let received = Buffer.alloc(0);
  async function answerMessages(chunk: Buffer): Promise<void> {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      const response = await respondTo(received.subarray(2, end), "tcp", respondOptions);
      received = received.subarray(end);
      if (response) socket.write(framed(response));
      if (socket.writableLength > maxUnreadBytes) socket.destroy();
      if (socket.destroyed) return;
    }
  }
  let answering = Promise.resolve();
  socket.on("error", () => {});
  socket.setTimeout(idleTimeoutMs, () => socket.destroy());
  socket.on("data", (chunk) => {
    socket.pause();
    answering = answerMessages(chunk).then(
      () => void socket.resume(),
      () => void socket.destroy(),
    );
  });
  // The event `end` can arrive while messages are still being answered, because pausing a socket does not delay `end`.
  socket.on("end", () => void answering.then(() => socket.end()));
}

/**
 * Starts a DNS server on 127.0.0.1, with UDP and TCP on the same port. If the port is not available, rejects with the
 * error of node:net or node:dgram.
 */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const { answer, onError, idleTimeoutMs = 10_000 } = options;
  const respondOptions: RespondOptions = { answer, ...(onError ? { onError } : {}) };
  const { udp, tcp, port } = await bind(options);
  const connections = new Set<Socket>();
  let isStopping = false;

  udp.on("error", () => {});
  udp.on("message", (bytes, from) => {
    void respondTo(bytes, "udp", respondOptions).then((response) => {
      if (response && !isStopping) udp.send(response, from.port, from.address);
    });
  });
  tcp.maxConnections = maxConnections;
  tcp.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    serveConnection(socket, respondOptions, idleTimeoutMs);
  });

  return {
    port,
    stop: async () => {
      isStopping = true;
      const closed = Promise.all([once(udp, "close"), once(tcp, "close")]);
      udp.close();
      tcp.close();
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}
