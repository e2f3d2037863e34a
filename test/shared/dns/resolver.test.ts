import { AUTHORITATIVE_ANSWER, type DecodedPacket, type OptAnswer, type Packet, TRUNCATED_RESPONSE } from "dns-packet";
import { expect, test } from "vitest";

import type { RRset } from "../../../shared/dns/rrset.ts";
import { framed } from "../../../shared/dns/transport.ts";
import {
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

const apex = ns("example.test", "ns1.example.test");

/** An internet with `example.test`, which has these RRsets. */
async function withExample(...rrsets: RRset[]): Promise<Internet & { asked: string[] }> {
  const net = await internet();
  const server = await net.add(serving({ name: "example.test", rrsets: [apex, ...rrsets] }));
  net.registered.push(...delegated("example.test", server));
  return { ...net, asked: server.asked };
}

const everyType: RRset[] = [
  a("example.test", "192.0.2.1", "192.0.2.2"),
  { name: "example.test", type: "AAAA", ttl: 300, data: [{ type: "AAAA", address: "2001:db8::1" }] },
  { name: "example.test", type: "MX", ttl: 300, data: [{ type: "MX", priority: 10, host: "mx.example.test" }] },
  txt("example.test", "v=spf1 -all"),
  {
    name: "example.test",
    type: "SRV",
    ttl: 300,
    data: [{ type: "SRV", priority: 1, weight: 2, port: 993, host: "imap.example.test" }],
  },
  { name: "example.test", type: "CAA", ttl: 300, data: [{ type: "CAA", flags: 128, tag: "issue", value: "ca.test" }] },
  apex,
  cname("www.example.test", "example.test"),
];

test.each(everyType)("finds the $type records of $name", async ({ name, type, ttl, data }) => {
  const net = await withExample(...everyType.filter((rrset) => rrset !== apex));
  const records = data.map((one) => ({ name, ttl, ...one }));
  expect(await net.open().resolve(name, type)).toEqual({ status: "found", records });
});

test("asks the root, the registry and the domain's nameserver once each, and the root no more afterwards", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"), txt("_dmarc.example.test", "v=DMARC1"));
  const resolver = net.open();
  await resolver.resolve("example.test", "A");
  expect([net.root.asked, net.registry.asked, net.asked]).toEqual([
    ["example.test A"],
    ["example.test A"],
    ["example.test A"],
  ]);
  await resolver.resolve("_dmarc.example.test", "TXT");
  expect([net.root.asked.length, net.registry.asked.length, net.asked.length]).toEqual([1, 2, 2]);
});

test("joins the character-strings of a long text, wherever they cut it", async () => {
  const text = "é".repeat(400);
  const net = await withExample(txt("example.test", text, "other"));
  const answer = await net.open().resolve("example.test", "TXT");
  expect(answer).toMatchObject({ status: "found", records: [{ text }, { text: "other" }] });
});

test("tells a name without the type from a name that does not exist", async () => {
  const net = await withExample(a("a.deep.example.test", "192.0.2.1"));
  const resolver = net.open();
  expect(await resolver.resolve("example.test", "MX")).toEqual({ status: "none" });
  expect(await resolver.resolve("deep.example.test", "A")).toEqual({ status: "none" });
  expect(await resolver.resolve("b.example.test", "A")).toEqual({ status: "absent" });
  expect(await resolver.resolve("unregistered.test", "A")).toEqual({ status: "absent" });
  expect(await resolver.resolve("name.nosuchtld", "A")).toEqual({ status: "absent" });
});

test("takes a name in any case and with a dot at the end for the same", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  expect(await net.open().resolve("EXAMPLE.Test.", "A")).toMatchObject({ status: "found" });
  expect(net.asked).toEqual(["example.test A"]);
});

test.each(["", "."])("asks the root for its own name %j", async (name) => {
  const net = await internet();
  expect(await net.open().resolve(name, "MX")).toEqual({ status: "none" });
});

test.each(["a..test", `${"a".repeat(64)}.test`, `${"a.".repeat(127)}test`, "ex ample.test", "münchen.test"])(
  "sends nothing for %j, which is not a name",
  async (name) => {
    const net = await internet();
    const resolver = net.open();
    expect(await resolver.resolve(name, "A")).toEqual({ status: "unknown", reason: "it is not a domain name" });
    expect(await resolver.delegation(name)).toEqual({ status: "unknown", reason: "it is not a domain name" });
    expect(net.root.asked).toEqual([]);
  },
);

test("follows a CNAME from the root again, and believes nothing of the target that came along", async () => {
  const net = await withExample(a("host.other.test", "192.0.2.66"));
  const lying = await net.addAsLiked({
    udp: (query, send) =>
      send(
        responseTo(query, {
          answers: [record("www.liar.test", "CNAME", "example.test"), record("example.test", "A", "192.0.2.66")],
        }),
      ),
  });
  net.registered.push(...delegated("liar.test", lying));
  expect(await net.open().resolve("www.liar.test", "A")).toEqual({ status: "none" });
  expect(net.asked).toEqual(["example.test A"]);
});

test("answers what the end of a chain of 8 CNAMEs comes to, and no longer one", async () => {
  const chain = Array.from({ length: 9 }, (_, index) => cname(`${index}.example.test`, `${index + 1}.example.test`));
  const net = await withExample(...chain, a("9.example.test", "192.0.2.9"));
  const resolver = net.open();
  expect(await resolver.resolve("1.example.test", "A")).toMatchObject({
    status: "found",
    records: [{ name: "9.example.test", address: "192.0.2.9" }],
  });
  expect(await resolver.resolve("0.example.test", "A")).toEqual({
    status: "unknown",
    reason: "its chain of CNAME records is longer than 8",
  });
});

test("finds out that CNAMEs lead in a circle", async () => {
  const net = await withExample(cname("a.example.test", "b.example.test"), cname("b.example.test", "a.example.test"));
  expect(await net.open().resolve("a.example.test", "MX")).toEqual({
    status: "unknown",
    reason: "its CNAME records lead in a circle",
  });
  expect(net.asked.length).toBe(2);
});

test("says that the target of a CNAME is absent", async () => {
  const net = await withExample(cname("www.example.test", "gone.example.test"));
  expect(await net.open().resolve("www.example.test", "A")).toEqual({ status: "absent" });
});

test("asks again by TCP when the answer was cut off", async () => {
  const texts = Array.from({ length: 9 }, (_, index) => String(index).repeat(250));
  const net = await withExample(txt("example.test", ...texts));
  const answer = await net.open().resolve("example.test", "TXT");
  expect(answer).toMatchObject({ status: "found", records: texts.map((text) => ({ text })) });
  expect(net.asked).toEqual(["example.test TXT", "example.test TXT"]);
});

test("puts an answer by TCP together from single bytes", async () => {
  const net = await internet();
  const server = await net.addAsLiked({
    udp: (query, send) => send(responseTo(query, { flags: AUTHORITATIVE_ANSWER | TRUNCATED_RESPONSE })),
    tcp: (query, socket) => {
      const bytes = framed(responseTo(query, { answers: [record("example.test", "A", "192.0.2.1")] }));
      const writeFrom = (index: number): void => {
        if (index < bytes.length)
          socket.write(bytes.subarray(index, index + 1), () => setImmediate(writeFrom, index + 1));
      };
      socket.setNoDelay(true);
      writeFrom(0);
    },
  });
  net.registered.push(...delegated("example.test", server));
  expect(await net.open().resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(server.asked).toEqual(["example.test A", "example.test A tcp"]);
});

test("asks without recursion, with EDNS for 1232 bytes, and with a new id each time", async () => {
  const net = await internet();
  const queries: DecodedPacket[] = [];
  const server = await net.addAsLiked({
    udp: (query, send) => {
      queries.push(query);
      send(responseTo(query));
    },
  });
  net.registered.push(...delegated("example.test", server));
  const resolver = net.open();
  for (let count = 0; count < 8; count += 1) await resolver.resolve("example.test", "A");
  expect(queries.length).toBe(8);
  expect(queries.every(({ flag_rd, flag_qr }) => !flag_rd && !flag_qr)).toBe(true);
  expect(queries.map(({ additionals }) => additionals)).toMatchObject(queries.map(() => [{ udpPayloadSize: 1232 }]));
  expect(new Set(queries.map(({ id }) => id)).size).toBeGreaterThan(4);
});

const badVersion: OptAnswer = {
  type: "OPT",
  name: ".",
  udpPayloadSize: 512,
  extendedRcode: 1,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};
test.each<[how: string, packet: Packet]>([
  ["FORMERR", { flags: 1 }],
  ["FORMERR without the question", { flags: 1, questions: [] }],
  ["BADVERS", { flags: 0, additionals: [badVersion] }],
])("asks without EDNS a server that answers it with %s", async (_how, packet) => {
  const net = await internet();
  const server = await net.addAsLiked({
    udp: (query, send) => {
      const isOld = query.additionals?.length === 0;
      send(
        isOld ? responseTo(query, { answers: [record("example.test", "A", "192.0.2.1")] }) : responseTo(query, packet),
      );
    },
  });
  net.registered.push(...delegated("example.test", server));
  expect(await net.open().resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(server.asked.length).toBe(2);
});

test("asks without EDNS by TCP, too, a server that does not know it", async () => {
  const net = await internet();
  const sizes: (number | undefined)[] = [];
  const server = await net.addAsLiked({
    udp: (query, send) => {
      const isOld = query.additionals?.length === 0;
      send(responseTo(query, { flags: isOld ? AUTHORITATIVE_ANSWER | TRUNCATED_RESPONSE : 1 }));
    },
    tcp: (query, socket) => {
      sizes.push(query.additionals?.length);
      socket.write(framed(responseTo(query, { answers: [record("example.test", "A", "192.0.2.1")] })));
    },
  });
  net.registered.push(...delegated("example.test", server));
  expect(await net.open().resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(sizes).toEqual([0]);
});

test("looks up nameservers in other zones, by IPv4 and else by IPv6", async () => {
  const net = await internet();
  const server = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.1")] }));
  const hosts = await net.add(
    serving({
      name: "hosts.test",
      rrsets: [
        ns("hosts.test", "ns1.hosts.test"),
        { name: "six.hosts.test", type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2606:4700::53" }] },
      ],
    }),
  );
  net.registered.push(...delegated("hosts.test", hosts), ns("example.test", "six.hosts.test"));
  const route: typeof net.route = (address) => (address === "2606:4700::53" ? server.endpoint : net.route(address));
  expect(await net.open({ route }).resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(hosts.asked).toEqual(["six.hosts.test A", "six.hosts.test AAAA"]);
});

test("asks a nameserver with a known suffix where it is configured to be, whatever its glue says", async () => {
  const net = await internet();
  const ours = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.1")] }));
  const glue = a("x.ns1.ours.test", "8.8.0.99");
  net.registered.push(ns("example.test", "x.ns1.ours.test", "x.ns2.ours.test"), glue);
  const resolver = net.open({ known: [{ suffix: "Ours.Test.", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(net.routed).toEqual([net.registry.address]);
  expect(ours.asked.length).toBe(1);
});

test("asks a place once, whatever number of nameservers are there", async () => {
  const net = await internet(ns("example.test", "a.ours.test", "b.ours.test", "c.ours.test"));
  const ours = await net.add(serving({ name: "other.test", rrsets: [] }));
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  expect(ours.asked.length).toBe(1);
});

test("does not take the root for a suffix of nameservers", async () => {
  const net = await internet();
  expect(() => net.open({ known: [{ suffix: ".", endpoint: net.root.endpoint }] })).toThrow("not a suffix");
});

test("keeps where a top-level domain is for its TTL, and an hour at most", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  let nowMs = 0;
  const resolver = net.open({ nowMs: () => nowMs });
  const rootQueriesAt = async (ms: number): Promise<number> => {
    nowMs = ms;
    await resolver.resolve("example.test", "A");
    return net.root.asked.length;
  };
  expect(await rootQueriesAt(0)).toBe(1);
  expect(await rootQueriesAt(3_599_999)).toBe(1);
  expect(await rootQueriesAt(3_600_000)).toBe(2);
});

test("sees at once that a domain has other nameservers", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  const resolver = net.open();
  await resolver.resolve("example.test", "A");
  const next = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.2")] }));
  net.registered.splice(-2, 2, ...delegated("example.test", next));
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ records: [{ address: "192.0.2.2" }] });
});

test("asks the root again when a top-level domain's servers have gone", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  let hasMoved = false;
  const resolver = net.open({
    route: (address) => (hasMoved ? { address: "127.0.0.1", port: 1 } : net.route(address)),
  });
  hasMoved = true;
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  hasMoved = false;
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
});
