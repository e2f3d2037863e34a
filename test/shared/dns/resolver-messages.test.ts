import { AUTHORITATIVE_ANSWER, type DecodedPacket, type OptAnswer, type Packet, TRUNCATED_RESPONSE } from "dns-packet";
import { expect, test } from "vitest";

import { framed } from "../../../shared/dns/transport.ts";
import { delegated, internet, record, responseTo, txt } from "../../support/dns-network.ts";
import { withExample } from "./resolver-scene.ts";

test("the resolver asks again by TCP when the answer was cut off", async () => {
  const texts = Array.from({ length: 9 }, (_, index) => String(index).repeat(250));
  const net = await withExample(txt("example.test", ...texts));
  const answer = await net.open().resolve("example.test", "TXT");
  expect(answer).toMatchObject({ status: "found", records: texts.map((text) => ({ text })) });
  expect(net.asked).toEqual(["example.test TXT", "example.test TXT"]);
});

test("the resolver reads an answer that arrives byte by byte over TCP", async () => {
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

test("the resolver asks without recursion, with EDNS for 1232 bytes, and with varying ids", async () => {
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
])("the resolver asks again without EDNS if a server answers a query with %s", async (_how, packet) => {
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

test("the resolver also leaves out EDNS over TCP if the server does not support EDNS", async () => {
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
