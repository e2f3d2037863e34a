import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import { onTestFinished } from "vitest";

import { type GatewayOptions, startGateway } from "../../../infra/local/server/gateway.ts";
import type { Handler } from "../../../infra/local/server/invoke.ts";

export type Reply = { status: number; headers: IncomingHttpHeaders; body: string };
export type Sent = {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
};

/** Sends one request over its own connection, with nothing normalised on the way. */
export function sendRequest(port: number, sent: Sent = {}): Promise<Reply> {
  const { method = "GET", path = "/", headers = {}, body } = sent;
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, method, path, headers, host: "127.0.0.1", agent: false }, (incoming) => {
      text(incoming).then(
        (received) => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: received }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sends bytes unchanged. Returns the text that came back until the connection closed. */
export function sendBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(bytes);
  return text(socket);
}

/** Starts a gateway that stops when its test ends. Returns the port of the gateway. */
export async function gatewayFor(options: Partial<GatewayOptions>): Promise<number> {
  const gateway = await startGateway({ functions: [], port: 0, ...options });
  onTestFinished(gateway.stop);
  return gateway.port;
}

/** Starts a gateway with one function for all requests. Returns the port of the gateway. */
export const gatewayWith = (handler: Handler, options: Partial<GatewayOptions> = {}): Promise<number> =>
  gatewayFor({ functions: [{ name: "all", triggers: ["$default"], handler }], ...options });

/** A function that answers with its event. */
export const echo: Handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });
