import { execFile, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { promisify } from "node:util";

import { expect, onTestFinished, test } from "vitest";

import type { DnsAnswer } from "../../../../infra/local/dns/respond.ts";
import { type DnsServer, startDnsServer } from "../../../../infra/local/dns/server.ts";
import { freePort } from "../../../../infra/local/table/lock.ts";
import { framed } from "../../../../shared/dns/transport.ts";
import { serving } from "../../../support/dns-network.ts";
import { listen } from "../../../support/listen.ts";
import { byTcp, firstByUdp, query, rcodeOf, started, zone } from "./asking.ts";

async function client({ port }: DnsServer): Promise<Resolver> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${port}`]);
  return resolver;
}

test("another implementation can ask the server for records of every type", async () => {
  const resolver = await client(await started());
  expect(await resolver.resolve4("example.test", { ttl: true })).toEqual([
    { address: "192.0.2.1", ttl: 300 },
    { address: "192.0.2.2", ttl: 300 },
  ]);
  expect(await resolver.resolve6("example.test", { ttl: true })).toEqual([{ address: "2001:db8::1", ttl: 60 }]);
  expect(await resolver.resolveMx("example.test")).toMatchObject([
    { priority: 10, exchange: "mx1.example.test" },
    { priority: 0, exchange: "" },
  ]);
  const texts = await resolver.resolveTxt("example.test");
  expect(texts.map((strings) => strings.length)).toEqual([1, 6, 1]);
  expect(texts.map((strings) => strings.join(""))).toMatchObject(["v=spf1 -all", expect.any(String), ""]);
  expect(await resolver.resolveSrv("_imaps._tcp.example.test")).toMatchObject([
    { priority: 1, weight: 2, port: 993, name: "imap.example.test" },
  ]);
  expect(await resolver.resolveCaa("example.test")).toMatchObject([{ critical: 128, issue: "ca.test" }]);
  expect(await resolver.resolveNs("example.test")).toEqual(["ns1.example.test", "ns2.example.test"]);
  expect(await resolver.resolveCname("www.example.test")).toEqual(["example.test"]);
  expect(await resolver.resolve4("WWW.Example.TEST")).toEqual(["192.0.2.1", "192.0.2.2"]);
  expect(await resolver.resolveSoa("example.test")).toMatchObject({ nsname: "ns1.example.test", minttl: 300 });
});

test("another implementation reads the answer for a missing name", async () => {
  const resolver = await client(await started());
  await expect(resolver.resolve4("no.example.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
  await expect(resolver.resolve6("www.big.example.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
  await expect(resolver.resolveMx("big.example.test")).rejects.toMatchObject({ code: "ENODATA" });
  await expect(resolver.resolve4("other.test")).rejects.toMatchObject({ code: "EREFUSED" });
});

test("another implementation gets an answer by TCP that is too long for UDP", async () => {
  const resolver = await client(await started());
  expect((await resolver.resolveTxt("big.example.test")).length).toBe(40);
});

// A member, not a text in the calls below: knip takes such a text for a program that a package must install.
const dig = { program: "dig" };
const isDigThere = spawnSync(dig.program, ["-v"]).status === 0;
test.skipIf(!isDigThere)("the server answers dig (skipped if dig is not installed)", async () => {
  const { port } = await started();
  const digging = promisify(execFile)(dig.program, ["@127.0.0.1", "-p", String(port), "+short", "mx", "example.test"]);
  expect((await digging).stdout).toContain("10 mx1.example.test.");
});

test("the server repeats the question with its spelling, the id and RD, and offers no recursion", async () => {
  const answer = await firstByUdp(await started(), query("eXample.TEST", "A", { flags: 1 << 8 }));
  expect(answer).toMatchObject({
    id: 4711,
    flag_qr: true,
    flag_aa: true,
    flag_rd: true,
    flag_ra: false,
    flag_tc: false,
    questions: [{ name: "eXample.TEST", type: "A", class: "IN" }],
    additionals: [],
  });
});

test("the server answers a connection whose client has ended its own side", async () => {
  const answer: DnsAnswer = async (question) => {
    // The answer comes later than the end of the client's side.
    await new Promise((settle) => setImmediate(() => setImmediate(settle)));
    return serving(zone)(question);
  };
  const answers = await byTcp(await started({ answer }), framed(query("example.test", "A")));
  expect(answers.map(rcodeOf)).toEqual([0]);
});

test("the server answers the queries of a connection in order, in whatever pieces the bytes arrive", async () => {
  const server = await started();
  const asked = ["example.test", "big.example.test", "no.example.test"];
  const bytes = Buffer.concat(asked.map((name) => framed(query(name, "TXT"))));
  for (const size of [bytes.length, 7]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const answers = await byTcp(server, ...chunks);
    expect(answers.map(({ questions }) => questions?.[0]?.name)).toEqual(asked);
    expect(answers.map(rcodeOf)).toEqual([0, 0, 3]);
  }
});

test("if an answer fails, the client gets SERVFAIL, and the error is reported", async () => {
  const errors: unknown[] = [];
  const error = new Error("the table is away");
  const server = await started({ answer: () => Promise.reject(error), onError: (cause) => errors.push(cause) });
  expect(rcodeOf(await firstByUdp(server, query("example.test", "A")))).toBe(2);
  expect(errors).toEqual([error]);
});

test("the server closes a connection that sends nothing", async () => {
  const server = await started({ idleTimeoutMs: 20 });
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});

/** For each protocol, makes a port that is taken in this protocol. */
const busy = {
  TCP: () => listen(createServer()),
  UDP: async () => {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    onTestFinished(() => void socket.close());
    return socket.address().port;
  },
};
test.each(["TCP", "UDP"] as const)(
  "the server takes a free port if its %s port is taken and `onBusyPort` gives another port",
  async (protocol) => {
    const port = await busy[protocol]();
    const server = await started({ port, onBusyPort: freePort });
    expect(server.port).not.toBe(port);
    expect(rcodeOf(await firstByUdp(server, query("example.test", "A")))).toBe(0);
    expect((await byTcp(server, framed(query("example.test", "A")))).map(rcodeOf)).toEqual([0]);
    await expect(started({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  },
);

test("the server closes its connections when it stops, and its port is free again", async () => {
  const slow: DnsAnswer = () => new Promise(() => {});
  const server = await startDnsServer({ port: 0, answer: slow });
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(framed(query("example.test", "A")));
  await once(socket, "connect");
  const closed = new Promise((settle) => socket.on("close", settle));
  await Promise.all([closed, server.stop()]);
  const next = await started({ port: server.port });
  expect(next.port).toBe(server.port);
});
