import { AUTHORITATIVE_ANSWER, encode, type Answer, type DecodedPacket } from "dns-packet";
import { describe, expect, test } from "vitest";

import { transferZone } from "../../../shared/dns/transfer.ts";
import { framed } from "../../../shared/dns/transport.ts";
import { delegated, dnsNetwork, internet, record, responseTo } from "../../support/dns-network.ts";

const zone = "shop.test";
const soa = record(zone, "SOA", { mname: "ns.test", rname: "h.test", serial: 1 });
const www = record(`www.${zone}`, "A", "192.0.2.1");
const mail = record(`mail.${zone}`, "A", "192.0.2.2");

const limits = { timeoutMs: 2_000, maxBytes: 100_000, maxRecords: 1_000 };

/** The names and types of the records that are transferred from a server that answers with these messages. */
async function transferred(messages: (query: DecodedPacket) => Buffer[], given = limits) {
  const { endpoint } = await dnsNetwork().addAsLiked({
    tcp: (query, socket) => socket.write(Buffer.concat(messages(query).map(framed))),
  });
  const found = await transferZone(endpoint, zone, given);
  return found?.records.map(({ name, type }) => `${name} ${type}`);
}

const answering =
  (...lists: Answer[][]) =>
  (query: DecodedPacket) =>
    lists.map((answers) => responseTo(query, { answers }));

describe("a zone", () => {
  test.each([
    ["one message", [[soa, www, mail, soa]]],
    ["several messages", [[soa], [www], [mail], [soa]]],
  ])("is transferred completely in %s", async (_, lists) => {
    expect(await transferred(answering(...lists))).toEqual([`${zone} SOA`, `www.${zone} A`, `mail.${zone} A`]);
  });

  test("is transferred without the records that are outside of the zone", async () => {
    expect(await transferred(answering([soa, record("www.other.test", "A", "192.0.2.1"), www, soa]))).toEqual([
      `${zone} SOA`,
      `www.${zone} A`,
    ]);
  });

  test.each<[string, (query: DecodedPacket) => Buffer[]]>([
    ["begins without its SOA", answering([www, soa])],
    ["is empty", answering([])],
    ["never ends", (query) => [responseTo(query, { answers: [soa, www] }), Buffer.from("garbage")]],
    ["answers another question", ({ id = 0 }) => [encode({ type: "response", id: id ^ 1, answers: [soa, soa] })]],
    ["arrives as a query", ({ id }) => [encode({ type: "query", id, answers: [soa, www, soa] })]],
  ])("that %s is not transferred", async (_, messages) => {
    expect(await transferred(messages)).toBeUndefined();
  });

  test.each([
    ["refuses it", 5],
    ["fails", 2],
  ])("is not transferred by a server that %s", async (_, code) => {
    const refusing = (query: DecodedPacket) => [
      responseTo(query, { flags: AUTHORITATIVE_ANSWER | code, answers: [soa, www, soa] }),
    ];
    expect(await transferred(refusing)).toBeUndefined();
  });

  test("that is too long, in bytes, records or time, is not transferred", async () => {
    const many = Array.from({ length: 50 }, (_, index) => record(`h${index}.${zone}`, "A", "192.0.2.1"));
    const long = answering([soa, ...many], [soa]);
    expect(await transferred(long)).toHaveLength(51);
    const endless = answering([soa, ...many]);
    expect(await transferred(endless, { ...limits, maxRecords: 40 })).toBeUndefined();
    expect(await transferred(endless, { ...limits, maxBytes: 500 })).toBeUndefined();
    expect(await transferred(endless, { ...limits, timeoutMs: 30 })).toBeUndefined();
  });
});

describe("a resolver", () => {
  const whole = {
    tcp: (query: DecodedPacket, socket: { write: (bytes: Buffer) => unknown }) =>
      void socket.write(framed(responseTo(query, { answers: [soa, www, soa] }))),
  };

  test("transfers a zone from the first of its nameservers that allows it", async () => {
    const net = await internet();
    const closed = await net.addAsLiked({ tcp: (_, socket) => socket.destroy() });
    const open = await net.addAsLiked(whole);
    net.registered.push(...delegated(zone, closed, open));
    expect((await net.open().transfer(zone))?.records).toHaveLength(2);
    expect([closed.asked, open.asked]).toEqual([[`${zone} AXFR tcp`], [`${zone} AXFR tcp`]]);
  });

  test("transfers nothing from an address that is not public", async () => {
    const net = await internet();
    net.registered.push(...delegated(zone, { address: "127.0.0.1" }, { address: "10.0.0.1" }, { address: "fd00::1" }));
    expect(await net.open().transfer(zone)).toBeUndefined();
    expect(net.routed.filter((address) => !address.startsWith("8.8."))).toEqual([]);
  });

  test("transfers nothing for a name that is not delegated, or for a text that is not a domain name", async () => {
    const net = await internet();
    expect(await net.open().transfer(zone)).toBeUndefined();
    expect(await net.open().transfer("no name")).toBeUndefined();
    expect(await net.open().transfer("")).toBeUndefined();
  });
});
