import { createServer } from "node:http";

let started: Promise<string> | undefined;

/** The URL of a receiver on this machine that accepts whatever it gets. It does not keep the process alive. */
export const acceptingUrl = (): Promise<string> => (started ??= start());

async function start(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return `http://127.0.0.1:${address.port}/hook`;
}
