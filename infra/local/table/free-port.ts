import { createServer } from "node:net";

/** A port of 127.0.0.1 that nobody has at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((settle, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      settle(typeof address === "object" && address ? address.port : 0);
    });
  });
  await new Promise((settle) => server.close(settle));
  return port;
}
