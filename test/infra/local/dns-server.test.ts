import { execFile, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { promisify } from "node:util";

import { type DecodedPacket, type Packet, decode, encode } from "dns-packet";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { type DnsAnswer, respondTo } from "../../../infra/local/dns-respond.ts";
import { type DnsServer, type DnsServerOptions, startDnsServer } from "../../../infra/local/dns-server.ts";
import { freePort } from "../../../infra/local/free-port.ts";
import type { RRset } from "../../../shared/dns/rrset.ts";
import { framed } from "../../../shared/dns/transport.ts";
import { a, cname, ns, serving, txt } from "../../support/dns-network.ts";

const longText = "v=DKIM1; k=rsa; p=".padEnd(700, "é");
const zone: { name: string; rrsets: RRset[] } = {
  name: "example.test",
  rrsets: [
    ns("example.test", "ns1.example.test", "ns2.example.test"),
    a("example.test", "192.0.2.1", "192.0.2.2"),
    { name: "example.test", type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2001:db8::1" }] },
    {
      name: "example.test",
      type: "MX",
      ttl: 300,
      data: [
        { type: "MX", priority: 10, host: "mx1.example.test" },
        { type: "MX", priority: 0, host: "" },
      ],
    },
    txt("example.test", "v=spf1 -all", longText, ""),
    {
      name: "_imaps._tcp.example.test",
      type: "SRV",
      ttl: 300,
      data: [{ type: "SRV", priority: 1, weight: 2, port: 993, host: "imap.example.test" }],
    },
    {
      name: "example.test",
      type: "CAA",
      ttl: 300,
      data: [{ type: "CAA", flags: 128, tag: "issue", value: "ca.test" }],
    },
    cname("www.example.test", "example.test"),
    txt("big.example.test", ...Array.from({ length: 40 }, (_, index) => String(index).padEnd(200, "x"))),
    txt("huge.example.test", ...Array.from({ length: 40 }, (_, index) => String(index).padEnd(2_000, "x"))),
  ],
};

async function started(options: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
  const server = await startDnsServer({ port: 0, answer: serving(zone), ...options });
  onTestFinished(server.stop);
  return server;
}

async function client({ port }: DnsServer): Promise<Resolver> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${port}`]);
  return resolver;
}

/** Sends datagrams, and answers the first one that comes back. */
async function firstByUdp({ port }: DnsServer, ...datagrams: Buffer[]): Promise<DecodedPacket & { bytes: number }> {
  const socket = createSocket("udp4");
  try {
    const answered = once(socket, "message");
    for (const bytes of datagrams) socket.send(bytes, port, "127.0.0.1");
    const [bytes] = (await answered) as [Buffer];
    return { ...decode(bytes), bytes: bytes.length };
  } finally {
    socket.close();
  }
}

/** Sends bytes over a connection, says it is done, and reads to the end. */
async function byTcp({ port }: DnsServer, ...chunks: Buffer[]): Promise<DecodedPacket[]> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  for (const chunk of chunks) await new Promise((sent) => socket.write(chunk, sent));
  socket.end();
  let rest = Buffer.concat(await socket.toArray());
  const packets: DecodedPacket[] = [];
  while (rest.length > 0) {
    const end = 2 + rest.readUInt16BE(0);
    packets.push(decode(rest.subarray(2, end)));
    rest = rest.subarray(end);
  }
  return packets;
}

const rcodeOf = ({ flags = 0 }: Packet): number => flags & 0xf;
const query = (name: string, type: string, packet: Packet = {}): Buffer =>
  encode({ type: "query", id: 4711, questions: [{ name, type: type as "A" }], ...packet });
const edns = (udpPayloadSize: number, ednsVersion = 0): Packet => ({
  additionals: [
    { type: "OPT", name: ".", udpPayloadSize, ednsVersion, extendedRcode: 0, flags: 0, flag_do: false, options: [] },
  ],
});

test("answers another implementation's questions of every type", async () => {
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
  expect(await resolver.resolveSoa("example.test")).toMatchObject({ nsname: "ns1.example.test", minttl: 60 });
});

test("tells another implementation what is not there", async () => {
  const resolver = await client(await started());
  await expect(resolver.resolve4("no.example.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
  await expect(resolver.resolve6("www.big.example.test")).rejects.toMatchObject({ code: "ENOTFOUND" });
  await expect(resolver.resolveMx("big.example.test")).rejects.toMatchObject({ code: "ENODATA" });
  await expect(resolver.resolve4("other.test")).rejects.toMatchObject({ code: "EREFUSED" });
});

test("gives another implementation by TCP what is too long for UDP", async () => {
  const resolver = await client(await started());
  expect((await resolver.resolveTxt("big.example.test")).length).toBe(40);
});

const dig = { program: "dig" };
const isDigThere = spawnSync(dig.program, ["-v"]).status === 0;
test.skipIf(!isDigThere)("answers dig (skipped where dig is not installed)", async () => {
  const { port } = await started();
  const digging = promisify(execFile)(dig.program, ["@127.0.0.1", "-p", String(port), "+short", "mx", "example.test"]);
  expect((await digging).stdout).toContain("10 mx1.example.test.");
});

test("echoes the question as it was spelled, the id and RD, and offers no recursion", async () => {
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

test("cuts off what is longer than 512 bytes, or than the asker's EDNS says, to nothing", async () => {
  const server = await started();
  const sizes = { 512: 512, 100: 512, 1_232: 1_232, 65_535: 4_096 };
  const answers = Object.entries(sizes).map(async ([size, most]) => {
    const answer = await firstByUdp(server, query("big.example.test", "TXT", edns(Number(size))));
    expect(answer).toMatchObject({ flag_tc: true, answers: [], authorities: [], additionals: [{ type: "OPT" }] });
    expect(answer.bytes).toBeLessThanOrEqual(most);
  });
  await Promise.all(answers);
  const plain = await firstByUdp(server, query("big.example.test", "TXT"));
  expect(plain).toMatchObject({ flag_tc: true, flag_aa: true, answers: [], additionals: [] });
});

test("leaves out the addresses before it cuts off an answer", async () => {
  const hosts = Array.from({ length: 8 }, (_, index) => `mailserver-${index}.example.test`);
  const data = hosts.map((host) => ({ type: "MX" as const, priority: 1, host }));
  const rrsets: RRset[] = [
    { name: "example.test", type: "MX", ttl: 1, data },
    ...hosts.map((host) => a(host, "192.0.2.1")),
  ];
  const server = await started({ answer: serving({ name: "example.test", rrsets }) });
  const short = await firstByUdp(server, query("example.test", "MX"));
  expect([short.flag_tc, short.answers?.length, short.additionals?.length]).toEqual([false, 8, 0]);
  const long = await firstByUdp(server, query("example.test", "MX", edns(1_232)));
  expect([long.flag_tc, long.answers?.length, long.additionals?.length]).toEqual([false, 8, 9]);
});

test("cuts off a referral rather than its addresses", async () => {
  const hosts = Array.from({ length: 5 }, (_, index) => `nameserver-${index}.sub.example.test`);
  const rrsets = [ns("sub.example.test", ...hosts), ...hosts.map((host) => a(host, "192.0.2.1"))];
  const server = await started({ answer: serving({ name: "example.test", rrsets }) });
  const short = await firstByUdp(server, query("sub.example.test", "A"));
  expect([short.flag_tc, short.authorities?.length]).toEqual([true, 0]);
  const long = await firstByUdp(server, query("sub.example.test", "A", edns(1_232)));
  expect([long.flag_tc, long.authorities?.length, long.additionals?.length]).toEqual([false, 5, 6]);
});

test("answers a connection whose other end has nothing more to say", async () => {
  const answer: DnsAnswer = async (question) => {
    await new Promise((settle) => setImmediate(() => setImmediate(settle)));
    return serving(zone)(question);
  };
  const answers = await byTcp(await started({ answer }), framed(query("example.test", "A")));
  expect(answers.map(rcodeOf)).toEqual([0]);
});

test("answers the queries of a connection in order, however its bytes arrive", async () => {
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

test("cuts off what is too long even for TCP", async () => {
  const [answer] = await byTcp(await started(), framed(query("huge.example.test", "TXT")));
  expect(answer).toMatchObject({ flag_tc: true, answers: [] });
});

test("fails a question whose answer fails, and tells of the error", async () => {
  const errors: unknown[] = [];
  const error = new Error("the table is away");
  const server = await started({ answer: () => Promise.reject(error), onError: (cause) => errors.push(cause) });
  expect(rcodeOf(await firstByUdp(server, query("example.test", "A")))).toBe(2);
  expect(errors).toEqual([error]);
});

const twoQuestions = { questions: [1, 2].map(() => ({ name: "example.test", type: "A" as const })) };
const twoEdns = { additionals: [...(edns(512).additionals ?? []), ...(edns(512).additionals ?? [])] };
test.each<[what: string, rcode: number, bytes: Buffer]>([
  ["bytes that are no message", 1, Buffer.from("GET / HTTP/1.1\r\n\r\n")],
  ["an id and no more", 1, Buffer.from([0x12, 0x34, 0])],
  ["a question that is cut short", 1, query("example.test", "A").subarray(0, 20)],
  ["no question", 1, encode({ type: "query", id: 1 })],
  ["two questions", 1, query("example.test", "A", twoQuestions)],
  ["two EDNS records", 1, query("example.test", "A", twoEdns)],
  ["a notification", 4, query("example.test", "SOA", { flags: 4 << 11 })],
  ["an update", 4, query("example.test", "SOA", { flags: 5 << 11 })],
  ["another class", 5, query("example.test", "A", { questions: [{ name: "example.test", type: "A", class: "CH" }] })],
  ["a transfer", 5, query("example.test", "AXFR")],
  ["a name of bytes that no name of ours has", 5, query("n\u00fc.example.test", "A")],
])("answers %s with response code %i", async (_what, rcode, bytes) => {
  const answer = await firstByUdp(await started(), bytes);
  expect([answer.flag_qr, answer.id, rcodeOf(answer)]).toEqual([true, bytes.readUInt16BE(0), rcode]);
});

test("answers EDNS of a later version with BADVERS", async () => {
  const answer = await firstByUdp(await started(), query("example.test", "A", edns(1_232, 1)));
  expect(answer).toMatchObject({ additionals: [{ type: "OPT", extendedRcode: 1, ednsVersion: 0 }], answers: [] });
});

test("answers no response, and nothing without an id", async () => {
  const server = await started();
  const response = encode({ type: "response", id: 1, questions: [{ name: "example.test", type: "A" }] });
  const answer = await firstByUdp(server, response, Buffer.alloc(0), Buffer.from([1]), query("example.test", "A"));
  expect(answer.id).toBe(4711);
});

test("lives through any bytes, and answers only what is none itself", async () => {
  const responding = { answer: serving(zone) };
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (some, isQuery) => {
      const bytes = isQuery ? Buffer.concat([query("example.test", "A").subarray(0, 12), some]) : Buffer.from(some);
      const response = await respondTo(bytes, "udp", responding);
      const isAnswered = bytes.length > 2 && (bytes.readUInt8(2) & 0x80) === 0;
      expect(response !== undefined).toBe(isAnswered);
      if (response) expect(decode(response)).toMatchObject({ id: bytes.readUInt16BE(0), flag_qr: true });
    }),
    { numRuns: 500 },
  );
});

test("lives through any bytes on its sockets", async () => {
  const server = await started();
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), async (bytes) => {
      const socket = connect(server.port, "127.0.0.1");
      socket.end(bytes);
      await socket.toArray();
      await firstByUdp(server, Buffer.from(bytes), query("example.test", "A"));
    }),
    { numRuns: 50 },
  );
  expect(rcodeOf(await firstByUdp(server, query("example.test", "A")))).toBe(0);
});

test("drops a connection that says nothing", async () => {
  const server = await started({ idleTimeoutMs: 20 });
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});

/** A port with one of its two protocols taken by somebody else. */
const busy = {
  TCP: async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  },
  UDP: async () => {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    onTestFinished(() => void socket.close());
    return socket.address().port;
  },
};
test.each(["TCP", "UDP"] as const)("goes to a free port when its %s port is taken, if it may", async (protocol) => {
  const port = await busy[protocol]();
  const server = await started({ port, onBusyPort: freePort });
  expect(server.port).not.toBe(port);
  expect(rcodeOf(await firstByUdp(server, query("example.test", "A")))).toBe(0);
  expect((await byTcp(server, framed(query("example.test", "A")))).map(rcodeOf)).toEqual([0]);
  await expect(started({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("stops with its connections, and leaves the port to others", async () => {
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
