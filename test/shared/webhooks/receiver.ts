import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";

import { listen } from "../../support/listen.ts";

export type Answering = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A receiver that speaks HTTP. */
export async function httpReceiver(answer: Answering): Promise<{ url: string; port: number }> {
  const port = await listen(createHttpServer((request, response) => void answer(request, response)));
  return { url: `http://127.0.0.1:${port}/hook`, port };
}

/** A receiver that speaks HTTPS with this key and this certificate. */
export const httpsReceiver = async (pair: { key: string; cert: string }, answer: Answering) => ({
  port: await listen(createHttpsServer(pair, (request, response) => void answer(request, response))),
});

/** A receiver that handles each TCP connection with `onSocket`. */
export async function rawReceiver(onSocket: (socket: Socket) => void): Promise<{ url: string; port: number }> {
  const port = await listen(createTcpServer(onSocket));
  return { url: `http://127.0.0.1:${port}/hook`, port };
}
