import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

import { listen } from "../../support/listen.ts";

export type Recorded = { method: string; path: string; headers: IncomingHttpHeaders; content: Buffer; body: string };
export type Answer = { status: number; headers?: Record<string, string>; body: string | Buffer };

/**
 * A fault of the service:
 * - another answer
 * - `silence`: no answer
 * - `stall`: an answer that stops in the middle
 * - `hang-up`: the connection ends before the service does anything
 * - `lost`: the connection ends after the service has done what was asked
 */
export type Fault = Answer | "silence" | "stall" | "hang-up" | "lost";

/**
 * The time limit for a call to a service with these faults, in milliseconds. It is short only if an answer will not
 * come, because a busy machine needs time.
 */
export const timeoutFor = (troubles: readonly unknown[]): number =>
  troubles.includes("silence") || troubles.includes("stall") ? 150 : 5_000;

/** An HTTP server on 127.0.0.1 until the test ends. Each request gets the next fault, or else the answer. */
export async function startLoopback(answer: (request: Recorded) => Answer, fault: () => Fault | undefined) {
  const recorded: Recorded[] = [];
  const send = (response: ServerResponse, { status, headers = {}, body }: Answer): void => {
    response.writeHead(status, { "x-amzn-requestid": "1", ...headers }).end(body);
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    const content = await buffer(request);
    const one = { method, path, headers, content, body: content.toString() };
    recorded.push(one);
    const trouble = fault();
    if (trouble === "silence") return;
    if (trouble === "hang-up") return void request.socket.destroy();
    if (trouble === "lost") {
      answer(one);
      return void request.socket.destroy();
    }
    if (trouble === "stall") {
      response.writeHead(200, { "content-length": "1000" }).write("<?xml ");
      return;
    }
    send(response, trouble ?? answer(one));
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}`, recorded };
}
