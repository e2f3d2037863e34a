import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";

import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { onTestFinished } from "vitest";

import { startLoopback, type Fault } from "./loopback.ts";

export type Received = { from: string; to: string[]; raw: string; user: string | undefined; isSecure: boolean };

/** An error that a handler of the server answers with. */
export const reply = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode });

/** An SMTP server on 127.0.0.1 until the test ends. By default it offers no STARTTLS and needs no login. */
export async function startSmtp(options: SMTPServerOptions = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    closeTimeout: 0,
    onData: (stream, { envelope: { mailFrom, rcptTo }, user, secure }, done) => {
      void text(stream).then((raw) => {
        const from = mailFrom === false ? "" : mailFrom.address;
        received.push({ from, to: rcptTo.map(({ address }) => address), raw, user, isSecure: secure });
        done();
      });
    },
    ...options,
  });
  // A client that does not trust the certificate ends the connection during the handshake.
  server.on("error", () => {});
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return { port: (listening.address() as AddressInfo).port, received };
}

/** A server that accepts connections until the test ends. It sends the greeting and hangs up, or sends nothing. */
export async function startRaw(greeting?: string): Promise<{ port: number; connections: () => number }> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on("error", () => {});
    if (greeting !== undefined) socket.end(greeting);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

/** An error as Amazon SES writes it (REST JSON 1.1). */
export const sesRefusal = (code: string, status = 400, message = "No") => ({
  status,
  headers: { "content-type": "application/json", "x-amzn-errortype": code },
  body: JSON.stringify({ message }),
});

/** A server with the protocol of Amazon SES (API v2), until the test ends. */
export async function startSes(...troubles: Fault[]) {
  const answer = () => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ MessageId: "0100018c-1" }),
  });
  return startLoopback(answer, () => troubles.shift());
}
