import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";

import { certificateFor } from "../shared/webhooks/certificate.ts";

/**
 * TLS in front of the engine, as DynamoDB has it: over plain HTTP the SDK loads modules in its first call that it never
 * needs on Lambda. Answers the environment with which a process trusts it and finds it.
 */
export async function startTlsFront(
  endpoint: string,
  folder: string,
): Promise<{ env: Record<string, string>; stop: () => void }> {
  const { key, cert } = certificateFor("localhost");
  const file = join(folder, "front.pem");
  await writeFile(file, cert);
  const { hostname, port } = new URL(endpoint);
  const server = createServer({ key, cert }, (socket) => {
    const engine = connect(Number(port), hostname);
    engine.setNoDelay();
    socket.setNoDelay();
    for (const one of [socket, engine]) {
      one.on("error", () => {
        socket.destroy();
        engine.destroy();
      });
    }
    socket.pipe(engine).pipe(socket);
  });
  await once(server.listen(0, "localhost"), "listening");
  const own = (server.address() as AddressInfo).port;
  return {
    env: { AWS_ENDPOINT_URL_DYNAMODB: `https://localhost:${own}`, NODE_EXTRA_CA_CERTS: file },
    stop: () => server.close(),
  };
}
