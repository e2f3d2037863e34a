import { randomBytes } from "node:crypto";

import { type Answer, AUTHORITATIVE_ANSWER, type DecodedPacket, TRUNCATED_RESPONSE } from "dns-packet";

import { framed } from "../../../shared/dns/transport.ts";
import { type Conduct, a, ns, record, responseTo, serving } from "../../support/dns-network.ts";

export const name = "example.test";
/** A nameserver that knows the name. */
export const sound = serving({ name, rrsets: [ns(name, `ns1.${name}`), a(name, "192.0.2.1")] });
/** The response that a sound nameserver sends. */
export const right = (query: DecodedPacket): Buffer => responseTo(query, { answers: [record(name, "A", "192.0.2.1")] });
const wrong = [record(name, "A", "192.0.2.66")];
const soa = { mname: "ns1.elsewhere", rname: "a.elsewhere", serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
/** A response that says it was cut off. */
export const cutOff = (query: DecodedPacket): Buffer =>
  responseTo(query, { flags: AUTHORITATIVE_ANSWER | TRUNCATED_RESPONSE });
const oversized = Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(1_000)]);

type ByUdp = NonNullable<Conduct["udp"]>;

/** Replies with a response whose bytes `change` has changed. */
const changed =
  (change: (bytes: Buffer) => Buffer | void): ByUdp =>
  (query, send) => {
    const bytes = responseTo(query, { answers: wrong });
    send(change(bytes) ?? bytes);
  };
/** Replies with the response that `packet` describes. */
export const replying =
  (packet: (query: DecodedPacket) => Parameters<typeof responseTo>[1]): ByUdp =>
  (query, send) =>
    send(responseTo(query, packet(query)));

export const silent = "the nameservers of example.test do not answer";
const garbled = "the nameservers of example.test give an answer that cannot be read";
const lame = "the nameservers of example.test do not know the zone";
const failing = "the nameservers of example.test answer with an error";

/** Faults of a nameserver, with the reason that the resolver gives if all nameservers have this fault. */
export const bad: [is: string, reason: string, conduct: Conduct][] = [
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
  [
    "denies a name without a question",
    silent,
    { udp: replying(() => ({ questions: [], flags: AUTHORITATIVE_ANSWER | 3 })) },
  ],
  ["answers without a question", silent, { udp: replying(() => ({ questions: [], answers: wrong })) }],
  ["fails", failing, { udp: replying(() => ({ flags: 2 })) }],
  ["does not implement the query", failing, { udp: replying(() => ({ flags: 4 })) }],
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
    "cuts off its answer by TCP too",
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

export const noAddress = {
  status: "unknown",
  reason: "the nameservers of example.test have no address that can be queried",
};
