import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";

import { onTestFinished } from "vitest";

type Listening = { port: number };

export type Answering = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Listens on a free port of 127.0.0.1 until the test is over, however its connections are by then. */
async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return { port: address.port };
}

/** A receiver that speaks HTTP. */
export async function httpReceiver(answer: Answering): Promise<{ url: string; port: number }> {
  const { port } = await listen(createHttpServer((request, response) => void answer(request, response)));
  return { url: `http://127.0.0.1:${port}/hook`, port };
}

/** A receiver that speaks HTTPS with a key and certificate of its own. */
export const httpsReceiver = (pair: { key: string; cert: string }, answer: Answering): Promise<Listening> =>
  listen(createHttpsServer(pair, (request, response) => void answer(request, response)));

/** A receiver that does with a connection what it wants. */
export async function rawReceiver(onSocket: (socket: Socket) => void): Promise<{ url: string; port: number }> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    onSocket(socket);
  });
  const { port } = await listen(server);
  return { url: `http://127.0.0.1:${port}/hook`, port };
}
