import { connect } from "node:net";

import { decode, encode } from "dns-packet";
import fc from "fast-check";
import { expect, test } from "vitest";

import { respondTo } from "../../../../infra/local/dns/respond.ts";
import type { RRset } from "../../../../shared/dns/rrset.ts";
import { framed } from "../../../../shared/dns/transport.ts";
import { a, ns, serving } from "../../../support/dns-network.ts";
import { byTcp, edns, firstByUdp, query, rcodeOf, started, zone } from "./asking.ts";

test("an answer above 512 bytes, or above the client's EDNS size, has the flag TC and no records", async () => {
  const server = await started();
  // For each EDNS size of the client, the most bytes of the answer.
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

test("the server leaves out additional addresses before it truncates an answer", async () => {
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
  // The additional records are the eight addresses and the OPT record.
  expect([long.flag_tc, long.answers?.length, long.additionals?.length]).toEqual([false, 8, 9]);
});

test("the server truncates a referral rather than leave out its addresses", async () => {
  const hosts = Array.from({ length: 5 }, (_, index) => `nameserver-${index}.sub.example.test`);
  const rrsets = [ns("sub.example.test", ...hosts), ...hosts.map((host) => a(host, "192.0.2.1"))];
  const server = await started({ answer: serving({ name: "example.test", rrsets }) });
  const short = await firstByUdp(server, query("sub.example.test", "A"));
  expect([short.flag_tc, short.authorities?.length]).toEqual([true, 0]);
  const long = await firstByUdp(server, query("sub.example.test", "A", edns(1_232)));
  expect([long.flag_tc, long.authorities?.length, long.additionals?.length]).toEqual([false, 5, 6]);
});

test("the server truncates an answer that is too long even for TCP", async () => {
  const [answer] = await byTcp(await started(), framed(query("huge.example.test", "TXT")));
  expect(answer).toMatchObject({ flag_tc: true, answers: [] });
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
  ["a name with bytes outside of ASCII", 5, query("n\u00fc.example.test", "A")],
])("the server answers %s with response code %i", async (_what, rcode, bytes) => {
  const answer = await firstByUdp(await started(), bytes);
  expect([answer.flag_qr, answer.id, rcodeOf(answer)]).toEqual([true, bytes.readUInt16BE(0), rcode]);
});

test("the server answers EDNS of a later version with BADVERS", async () => {
  const answer = await firstByUdp(await started(), query("example.test", "A", edns(1_232, 1)));
  expect(answer).toMatchObject({ additionals: [{ type: "OPT", extendedRcode: 1, ednsVersion: 0 }], answers: [] });
});

test("the server does not answer a response, or a message without an id", async () => {
  const server = await started();
  const response = encode({ type: "response", id: 1, questions: [{ name: "example.test", type: "A" }] });
  const answer = await firstByUdp(server, response, Buffer.alloc(0), Buffer.from([1]), query("example.test", "A"));
  expect(answer.id).toBe(4711);
});

test("`respondTo` survives any bytes, and answers only messages that are not responses", async () => {
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

test("the server survives any bytes on its sockets", async () => {
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
