import { createServer } from "node:http";

import { portOf } from "./listen.ts";

let started: Promise<string> | undefined;

/** The URL of a receiver on this machine that accepts every request. The receiver does not keep the process alive. */
export const acceptingUrl = (): Promise<string> => (started ??= start());

async function start(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  const port = await portOf(server.unref());
  return `http://127.0.0.1:${port}/hook`;
}
