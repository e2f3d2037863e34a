import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { Socket } from "node:net";

import { jsonAnswer, sendAnswer } from "./http-message.ts";
import { type ResponderOptions, createResponder } from "./respond.ts";

/**
 * The data of one line in the gateway's log. `path` is percent-encoded, and has no query. `by` is the name of the
 * Lambda function that answered.
 */
export type ServedRequest = { method: string; path: string; status: number; durationMs: number; by?: string };

export type GatewayOptions = ResponderOptions & {
  /** The port. 0 chooses a free port. */
  port: number;
  stopTimeoutMs?: number;
  onServed?: (served: ServedRequest) => void;
};

export type Gateway = {
  port: number;
  /** Stops accepting requests, waits for running requests for at most `stopTimeoutMs`, and closes all connections. */
  stop: () => Promise<void>;
};

/**
 * The server's connections without a running request. These connections include the connections that browsers open in
 * advance.
 */
function trackIdle(server: Server): ReadonlySet<Socket> {
  const idle = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    idle.add(socket);
    socket.once("close", () => idle.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => socket.destroyed || idle.add(socket));
  });
  return idle;
}

/**
 * Starts a gateway on 127.0.0.1. The gateway behaves like an HTTP API of API Gateway, and runs the Lambda functions in
 * this process. Rejects with the error of node:net if the port is not available.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { port, stopTimeoutMs = 5000, onServed } = options;
  const respond = createResponder(options);
  let stopping = false;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const answer = await respond(request);
    if (stopping) response.setHeader("connection", "close");
    try {
      sendAnswer(response, answer);
    } catch (error) {
      // The answer has an invalid header, such as a value with a line break.
      options.onError?.("gateway", error);
      sendAnswer(response, jsonAnswer(500, { message: "Internal Server Error" }));
    }
    onServed?.({
      method: request.method ?? "",
      path: (request.url ?? "").replace(/\?.*$/s, ""),
      status: response.statusCode,
      durationMs: performance.now() - startedAt,
      ...(answer.by === undefined ? {} : { by: answer.by }),
    });
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const idle = trackIdle(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    stop: async () => {
      stopping = true;
      const timer = setTimeout(() => server.closeAllConnections(), stopTimeoutMs);
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of idle) socket.destroy();
      await closed;
      clearTimeout(timer);
    },
  };
}
