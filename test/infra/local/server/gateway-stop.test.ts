import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import { expect, test } from "vitest";

import { startGateway } from "../../../../infra/local/server/gateway.ts";
import { sendRequest } from "../wire.ts";

test("stop lets a request in flight finish and closes its kept-alive connection", async () => {
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const handler = async (): Promise<unknown> => {
    arrived.resolve();
    await release.promise;
    return { statusCode: 200, body: "finished" };
  };
  const functions = [{ name: "slow", triggers: ["$default"], handler }];
  // Longer than a test may take. So the test fails if the stop waits for the connection without a request.
  const gateway = await startGateway({ functions, port: 0, stopTimeoutMs: 600_000 });
  const idle = connect(gateway.port, "127.0.0.1");
  await once(idle, "connect");
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const received = text(socket);
  await arrived.promise;
  const stopped = gateway.stop();
  await expect(sendRequest(gateway.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  release.resolve();
  expect(await received).toMatch(/^HTTP\/1\.1 200 [^]*connection: close[^]*finished$/i);
  await stopped;
  idle.destroy();
});

test("stop does not wait for a handler that never ends", async () => {
  const arrived = Promise.withResolvers<void>();
  const handler = (): Promise<never> => {
    arrived.resolve();
    return new Promise(() => {});
  };
  const functions = [{ name: "stuck", triggers: ["$default"], handler }];
  const gateway = await startGateway({ functions, port: 0, stopTimeoutMs: 1 });
  const failure = sendRequest(gateway.port).catch((error: NodeJS.ErrnoException) => error.code);
  await arrived.promise;
  await gateway.stop();
  expect(await failure).toBe("ECONNRESET");
});
