import { randomInt } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";

import { onTestFinished } from "vitest";

import { freePortAbove } from "../../infra/local/start/port-holder.ts";

/** Makes a server listen on a free port of 127.0.0.1, and returns the port. */
export async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** Does what `portOf` does. At the end of the test it closes the server and its open connections. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.on("close", () => sockets.delete(socket));
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return portOf(server);
}

/**
 * Finds free ports of 127.0.0.1 for servers that start later. The ports are below those of outgoing connections (from
 * 32768 on Linux). So no outgoing connection takes a port before its server starts. `fetch` refuses port 10080, so the
 * ports are above it.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  let last = randomInt(10_100, 30_000);
  for (let index = 0; index < count; index += 1) {
    last = await freePortAbove(last);
    ports.push(last);
  }
  return ports;
}
