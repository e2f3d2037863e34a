import { randomBytes } from "node:crypto";

import { type Answer, AUTHORITATIVE_ANSWER, type DecodedPacket, TRUNCATED_RESPONSE } from "dns-packet";
import fc from "fast-check";
import { expect, test } from "vitest";

import { framed } from "../../../shared/dns/transport.ts";
import {
  type Conduct,
  type Internet,
  a,
  cname,
  delegated,
  internet,
  ns,
  record,
  responseTo,
  serving,
  txt,
} from "../../support/dns-network.ts";

const name = "example.test";
const sound = serving({ name, rrsets: [ns(name, `ns1.${name}`), a(name, "192.0.2.1")] });
const right = (query: DecodedPacket): Buffer => responseTo(query, { answers: [record(name, "A", "192.0.2.1")] });
const wrong = [record(name, "A", "192.0.2.66")];
const soa = { mname: "ns1.elsewhere", rname: "a.elsewhere", serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
const cutOff = (query: DecodedPacket): Buffer =>
  responseTo(query, { flags: AUTHORITATIVE_ANSWER | TRUNCATED_RESPONSE });
const oversized = Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(1_000)]);

type ByUdp = NonNullable<Conduct["udp"]>;

/** Replies with the bytes of a response in which something was changed. */
const changed =
  (change: (bytes: Buffer) => Buffer | void): ByUdp =>
  (query, send) => {
    const bytes = responseTo(query, { answers: wrong });
    send(change(bytes) ?? bytes);
  };
const replying =
  (packet: (query: DecodedPacket) => Parameters<typeof responseTo>[1]): ByUdp =>
  (query, send) =>
    send(responseTo(query, packet(query)));

const silent = "the nameservers of example.test do not answer";
const garbled = "the nameservers of example.test answer what cannot be read";
const lame = "the nameservers of example.test do not know the zone";
const failing = "the nameservers of example.test answer with an error";

/** Ways to be a bad nameserver, and what one says when all are like that. */
const bad: [is: string, reason: string, conduct: Conduct][] = [
  ["is silent", silent, {}],
  ["sends no DNS", silent, { udp: (_query, send) => send(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")) }],
  ["sends nothing in its datagram", silent, { udp: (_query, send) => send(Buffer.alloc(0)) }],
  ["cuts a record short", silent, { udp: changed((bytes) => bytes.subarray(0, -2)) }],
  ["counts records that are not there", silent, { udp: changed((bytes) => void bytes.writeUInt16BE(0xffff, 10)) }],
  [
    "answers with another id",
    silent,
    { udp: changed((bytes) => void bytes.writeUInt16BE(bytes.readUInt16BE(0) ^ 1, 0)) },
  ],
  ["sends a query", silent, { udp: changed((bytes) => void bytes.writeUInt8(bytes.readUInt8(2) & 0x7f, 2)) }],
  ["sends a notification", silent, { udp: changed((bytes) => void bytes.writeUInt8(bytes.readUInt8(2) | 0x20, 2)) }],
  [
    "answers for another name",
    silent,
    { udp: replying(() => ({ questions: [{ name: "other.test", type: "A" }], answers: wrong })) },
  ],
  [
    "answers for another type",
    silent,
    { udp: replying(() => ({ questions: [{ name, type: "TXT" }], answers: wrong })) },
  ],
  [
    "answers for another class",
    silent,
    { udp: replying(() => ({ questions: [{ name, type: "A", class: "CH" }], answers: wrong })) },
  ],
  [
    "answers two questions",
    silent,
    { udp: replying(({ questions = [] }) => ({ questions: [...questions, ...questions], answers: wrong })) },
  ],
  ["denies no question", silent, { udp: replying(() => ({ questions: [], flags: AUTHORITATIVE_ANSWER | 3 })) }],
  ["answers no question", silent, { udp: replying(() => ({ questions: [], answers: wrong })) }],
  ["fails", failing, { udp: replying(() => ({ flags: 2 })) }],
  ["does not implement it", failing, { udp: replying(() => ({ flags: 4 })) }],
  ["finds every query malformed", failing, { udp: replying(() => ({ flags: 1 })) }],
  ["refuses", "the nameservers of example.test refuse to answer", { udp: replying(() => ({ flags: 5 })) }],
  ["has no authority", lame, { udp: replying(() => ({ flags: 0, answers: wrong })) }],
  ["says without authority that there is nothing", lame, { udp: replying(() => ({ flags: 0 })) }],
  ["says without authority that there is no such name", lame, { udp: replying(() => ({ flags: 3 })) }],
  ["refers up", lame, { udp: replying(() => ({ flags: 0, authorities: [record(".", "NS", "a.root")] })) }],
  ["refers up with authority", lame, { udp: replying(() => ({ authorities: [record("test", "NS", "a.nic.test")] })) }],
  [
    "refers to its own zone",
    lame,
    { udp: replying(() => ({ flags: 0, authorities: [record(name, "NS", "a.nic.test")] })) },
  ],
  [
    "refers to the side",
    lame,
    { udp: replying(() => ({ flags: 0, authorities: [record("a.other.test", "NS", "a.nic.test")] })) },
  ],
  [
    "refers below the name",
    lame,
    { udp: replying(() => ({ flags: 0, authorities: [record(`a.${name}`, "NS", "a.nic.test")] })) },
  ],
  [
    "speaks for the zone above",
    lame,
    { udp: replying(() => ({ flags: AUTHORITATIVE_ANSWER | 3, authorities: [record("test", "SOA", soa)] })) },
  ],
  ["has an alias to no name", garbled, { udp: replying(() => ({ answers: [record(name, "CNAME", "a b.test")] })) }],
  [
    "denies the name of its answer",
    garbled,
    { udp: replying(() => ({ flags: AUTHORITATIVE_ANSWER | 3, answers: wrong })) },
  ],
  [
    "answers with records of another class",
    lame,
    {
      udp: replying(() => ({
        answers: [{ ...record(name, "A", "192.0.2.66"), class: "CH" } as Answer],
        authorities: [record("test", "SOA", soa)],
      })),
    },
  ],
  [
    "cuts off by TCP too",
    garbled,
    { udp: (query, send) => send(cutOff(query)), tcp: (query, socket) => void socket.write(framed(cutOff(query))) },
  ],
  ["is silent by TCP", silent, { udp: (query, send) => send(cutOff(query)) }],
  [
    "hangs up by TCP",
    silent,
    { udp: (query, send) => send(cutOff(query)), tcp: (_query, socket) => void socket.end() },
  ],
  [
    "answers with another id by TCP",
    silent,
    {
      udp: (query, send) => send(cutOff(query)),
      tcp: (query, socket) => void socket.write(framed(right({ ...query, id: (query.id ?? 0) ^ 1 }))),
    },
  ],
  [
    "answers too much by TCP",
    silent,
    {
      udp: (query, send) => send(cutOff(query)),
      tcp: (query, socket) => {
        const texts = Array.from({ length: 100 }, () => record(`x.${name}`, "TXT", "x".repeat(200)));
        socket.write(framed(responseTo(query, { answers: [...wrong, ...texts] })));
      },
    },
  ],
  [
    "announces too much by TCP",
    silent,
    { udp: (query, send) => send(cutOff(query)), tcp: (_query, socket) => void socket.write(oversized) },
  ],
  [
    "sends no DNS by TCP",
    silent,
    { udp: (query, send) => send(cutOff(query)), tcp: (_query, socket) => void socket.write(framed(randomBytes(9))) },
  ],
  [
    "stops half-way by TCP",
    silent,
    {
      udp: (query, send) => send(cutOff(query)),
      tcp: (query, socket) => void socket.write(framed(right(query)).subarray(0, 20)),
    },
  ],
];

test.each(bad)("goes to the next nameserver when one %s", async (_is, _reason, conduct) => {
  const net = await internet();
  const servers = [await net.addAsLiked(conduct), await net.add(sound)] as const;
  net.registered.push(...delegated(name, ...servers));
  const answer = await net.open({ tryTimeoutMs: 60 }).resolve(name, "A");
  expect(answer).toMatchObject({ status: "found", records: [{ address: "192.0.2.1" }] });
  expect(servers[0].asked.length).toBeGreaterThan(0);
});

test("knows nothing, and says why, when all nameservers are bad in the same way", async () => {
  const reasons = bad.map(async ([is, , conduct]) => {
    const net = await internet();
    net.registered.push(...delegated(name, await net.addAsLiked(conduct)));
    const answer = await net.open({ tryTimeoutMs: 250 }).resolve(name, "A");
    return [is, answer.status === "unknown" ? answer.reason : answer.status];
  });
  expect(await Promise.all(reasons)).toEqual(bad.map(([is, reason]) => [is, reason]));
});

test("waits on for the right answer when wrong ones come first", async () => {
  const net = await internet();
  const server = await net.addAsLiked({
    udp: (query, send) => {
      for (const [, reason, { udp }] of bad)
        if (reason === silent && udp) udp(query, (bytes) => !isCutOff(bytes) && send(bytes));
      send(right(query));
    },
  });
  const isCutOff = (bytes: Buffer): boolean => bytes.length > 2 && (bytes.readUInt8(2) & 2) !== 0;
  net.registered.push(...delegated(name, server));
  expect(await net.open().resolve(name, "A")).toMatchObject({ records: [{ address: "192.0.2.1" }] });
  expect(server.asked.length).toBe(1);
});

test("asks a silent or failing nameserver once more, and no other bad one", async () => {
  const net = await internet();
  const conducts: Conduct[] = [{}, { udp: replying(() => ({ flags: 2 })) }, { udp: replying(() => ({ flags: 5 })) }];
  const servers = await Promise.all(conducts.map(net.addAsLiked));
  net.registered.push(...delegated(name, ...servers));
  await net.open({ tryTimeoutMs: 150 }).resolve(name, "A");
  expect(servers.map(({ asked }) => asked.length)).toEqual([2, 2, 1]);
});

const inside = [
  "127.0.0.1",
  "169.254.169.254",
  "10.0.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "0.0.0.0",
  "255.255.255.255",
  "224.0.0.251",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "fd00::1",
  "fe80::1",
];
const noAddress = { status: "unknown", reason: "the nameservers of example.test have no address that can be asked" };

test.each(inside)("sends nothing to %s, given as glue or found by looking up", async (address) => {
  const net = await internet();
  const type = address.includes(":") ? ("AAAA" as const) : ("A" as const);
  const hosts = await net.add(
    serving({ name: "hosts.test", rrsets: [{ name: "in.hosts.test", type, ttl: 60, data: [{ type, address }] }] }),
  );
  net.registered.push(...delegated("hosts.test", hosts), ...delegated(name, { address }));
  const resolver = net.open();
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  net.registered.splice(-2, 2, ns(name, "in.hosts.test"));
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(hosts.asked.length).toBeGreaterThan(0);
  expect(new Set(net.routed)).toEqual(new Set([net.registry.address, hosts.address]));
});

test("does not take a name that only ends like a known suffix for a known one", async () => {
  const net = await internet(...delegated("notours.test", { address: "127.0.0.1" }), ns(name, "ns1.notours.test"));
  const ours = await net.add(sound);
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(ours.asked).toEqual([]);
});

test("passes over the inner one of two nameservers", async () => {
  const net = await internet();
  const server = await net.add(sound);
  net.registered.push(...delegated(name, { address: "127.0.0.1" }, server));
  expect(await net.open().resolve(name, "A")).toMatchObject({ status: "found" });
});

/** A registry's server that refers to `ns.elsewhere.test` and gives these addresses of it. */
async function subdomainWithGlue(host: string, net: Internet): Promise<Internet["root"]> {
  const server = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record(`sub.${name}`, "NS", host)],
          additionals: [record(host, "A", "8.8.66.66"), record("a.nic.test", "A", "8.8.66.66")],
        }),
      ),
  });
  net.registered.push(...delegated(name, server));
  return server;
}

test("believes no glue of a server that the name is not under", async () => {
  const net = await internet();
  await subdomainWithGlue("ns.elsewhere.test", net);
  const elsewhere = await net.add(serving({ name: "elsewhere.test", rrsets: [a("ns.elsewhere.test", "8.8.77.77")] }));
  net.registered.push(...delegated("elsewhere.test", elsewhere));
  await net.open({ tryTimeoutMs: 60 }).resolve(`sub.${name}`, "A");
  expect(net.routed).toContain("8.8.77.77");
  expect(net.routed).not.toContain("8.8.66.66");
});

test("believes the glue of a server that the name is under, for that referral", async () => {
  const net = await internet();
  await subdomainWithGlue(`ns.${name}`, net);
  await net.open({ tryTimeoutMs: 60 }).resolve(`sub.${name}`, "A");
  expect(net.routed.filter((address) => address === "8.8.66.66").length).toBe(1);
});

test("looks up three of fifty nameservers without glue", async () => {
  const net = await internet();
  const victim = await net.add(serving({ name: "victim.test", rrsets: [] }));
  const hosts = Array.from({ length: 50 }, (_, index) => `host${index}.victim.test`);
  net.registered.push(...delegated("victim.test", victim), ns(name, ...hosts));
  expect(await net.open().resolve(name, "A")).toEqual(noAddress);
  expect(victim.asked.length).toBe(3);
});

test("asks at most thirteen servers of a zone", async () => {
  const net = await internet();
  const bad = { udp: replying(() => ({ flags: 5 })) };
  const servers = await Promise.all(Array.from({ length: 30 }, () => net.addAsLiked(bad)));
  net.registered.push(...delegated(name, ...servers));
  await net.open().resolve(name, "A");
  expect(servers.flatMap(({ asked }) => asked).length).toBe(13);
});

test("gives up on nameservers that can only be found through each other", async () => {
  const net = await internet();
  net.registered.push(ns(name, "ns.other.test"), ns("other.test", `ns.${name}`), ns("own.test", "ns.own.test"));
  const resolver = net.open();
  expect(await resolver.resolve(name, "A")).toEqual(noAddress);
  expect(net.registry.asked).toEqual(["example.test A", "ns.other.test A", "ns.example.test A"]);
  expect(await resolver.resolve("own.test", "A")).toMatchObject({ status: "unknown" });
  expect(net.registry.asked.length).toBe(4);
});

test("sends no more than its budget, however the lookups branch", async () => {
  const net = await internet();
  const tree = await net.addAsLiked({
    udp: (query, send) => {
      const [question] = query.questions ?? [];
      const hosts = [1, 2, 3].map((branch) => record(question?.name ?? "", "NS", `ns.${branch}${question?.name}`));
      send(responseTo(query, { flags: 0, authorities: hosts }));
    },
  });
  const root = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record("test", "NS", "t.test")],
          additionals: [record("t.test", "A", tree.address)],
        }),
      ),
  });
  const resolver = net.open({ roots: [root.endpoint], maxQueries: 20 });
  expect(await resolver.resolve("x.test", "A")).toMatchObject({ status: "unknown" });
  expect(tree.asked.length + root.asked.length).toBeLessThanOrEqual(20);
});

test("stops when a question has sent as many messages as it may", async () => {
  const net = await internet(...delegated(name, { address: "8.8.0.99" }));
  expect(await net.open({ maxQueries: 2 }).resolve(name, "A")).toEqual({
    status: "unknown",
    reason: "it takes too many queries to find out",
  });
});

test("stops when a question has taken as long as it may", async () => {
  const net = await internet();
  const servers = await Promise.all(Array.from({ length: 4 }, () => net.addAsLiked({})));
  net.registered.push(...delegated(name, ...servers));
  expect(await net.open({ tryTimeoutMs: 150, timeoutMs: 250 }).resolve(name, "A")).toEqual({
    status: "unknown",
    reason: "the nameservers of example.test do not answer in time",
  });
  expect(servers.flatMap(({ asked }) => asked).length).toBeLessThan(servers.length);
});

test("follows referrals down to a name of many labels, each to the next one", async () => {
  const net = await internet();
  const deep = await net.addAsLiked({
    udp: (query, send) => {
      const [asked] = query.questions ?? [];
      const depth = deep.asked.length;
      const zone = (asked?.name ?? "")
        .split(".")
        .slice(-2 - depth)
        .join(".");
      send(
        responseTo(query, {
          flags: 0,
          authorities: [record(zone, "NS", `ns.${zone}`)],
          additionals: [record(`ns.${zone}`, "A", deep.address)],
        }),
      );
    },
  });
  net.registered.push(...delegated(name, deep));
  expect(await net.open().resolve(`${"a.".repeat(60)}${name}`, "A")).toMatchObject({ status: "unknown" });
  expect(deep.asked.length).toBeGreaterThan(10);
  expect(deep.asked.length).toBeLessThanOrEqual(16);
});

test("reports CNAMEs that lead out to another domain and back in a circle", async () => {
  const net = await internet();
  const server = await net.add(
    serving(
      { name, rrsets: [cname(`www.${name}`, "www.other.test")] },
      { name: "other.test", rrsets: [cname("www.other.test", `www.${name}`)] },
    ),
  );
  net.registered.push(...delegated(name, server), ns("other.test", `ns1.${name}`));
  expect(await net.open().resolve(`www.${name}`, "TXT")).toMatchObject({
    reason: "its CNAME records lead in a circle",
  });
});

test("takes no alias for a nameserver's address", async () => {
  const net = await internet();
  const server = await net.add(
    serving({
      name: "hosts.test",
      rrsets: [cname("ns.hosts.test", "real.hosts.test"), a("real.hosts.test", "8.8.0.99")],
    }),
  );
  net.registered.push(...delegated("hosts.test", server), ns(name, "ns.hosts.test"));
  expect(await net.open().resolve(name, "A")).toEqual(noAddress);
  expect(server.asked).toEqual(["ns.hosts.test A"]);
});

test("leaves out records that it cannot read among those it can", async () => {
  const net = await internet();
  const server = await net.addAsLiked({
    udp: replying(() => ({
      answers: [
        record(name, "MX", { preference: 1, exchange: "m\u00fcll.test" }),
        record(name, "MX", { preference: 2, exchange: "mx.test" }, 2 ** 31),
      ],
    })),
  });
  net.registered.push(...delegated(name, server));
  expect(await net.open().resolve(name, "MX")).toEqual({
    status: "found",
    records: [{ name, ttl: 0, type: "MX", priority: 2, host: "mx.test" }],
  });
});

test("lives through any bytes for an answer, by UDP and by TCP", async () => {
  const net = await internet();
  let bytes: Uint8Array = Buffer.alloc(0);
  const headed = (query: DecodedPacket, isCut: boolean): Buffer => {
    const response = isCut ? cutOff(query) : responseTo(query);
    return Buffer.concat([response.subarray(0, 12), bytes]);
  };
  const server = await net.addAsLiked({
    udp: (query, send) => {
      send(Buffer.from(bytes));
      send(headed(query, false));
      send(cutOff(query));
    },
    tcp: (query, socket) => void socket.end(framed(headed(query, false))),
  });
  net.registered.push(...delegated(name, server));
  const resolver = net.open({ tryTimeoutMs: 500 });
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), async (some) => {
      bytes = some;
      const { status } = await resolver.resolve(name, "TXT");
      expect(["found", "none", "absent", "unknown"]).toContain(status);
    }),
    { numRuns: 60 },
  );
});

test("lives through any change of an answer's bytes", async () => {
  const net = await internet();
  let change: [offset: number, value: number][] = [];
  const server = await net.addAsLiked({
    udp: (query, send) => {
      const bytes = responseTo(query, {
        answers: [
          record(name, "TXT", ["abc", "def"]),
          record(name, "CAA", { flags: 0, tag: "issue", value: "x" }),
          record(name, "SSHFP", { algorithm: 1, hash: 1, fingerprint: "00".repeat(20) }),
        ],
      });
      for (const [offset, value] of change) bytes.writeUInt8(value, 2 + (offset % (bytes.length - 2)));
      send(bytes);
      send(responseTo(query, { flags: 2 }));
    },
  });
  net.registered.push(...delegated(name, server));
  const resolver = net.open();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(500), fc.nat(255)), { maxLength: 4 }), async (some) => {
      change = some;
      const { status } = await resolver.resolve(name, "TXT");
      expect(["found", "none", "absent", "unknown"]).toContain(status);
    }),
    { numRuns: 100 },
  );
});

test("is not kept from other questions by a long text", async () => {
  const net = await internet();
  const server = await net.add(serving({ name, rrsets: [txt(name, "x".repeat(2_048), "y".repeat(2_048))] }));
  net.registered.push(...delegated(name, server));
  const resolver = net.open();
  const answers = await Promise.all(Array.from({ length: 10 }, () => resolver.resolve(name, "TXT")));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "found"));
});
