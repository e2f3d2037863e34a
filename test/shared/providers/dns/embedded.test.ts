import { randomBytes } from "node:crypto";

import { expect, test } from "vitest";

import type { RRset } from "../../../../shared/dns/rrset.ts";
import { ZoneExists, type ZoneChange } from "../../../../shared/providers/dns/dns.ts";
import { embeddedDns, zoneAt } from "../../../../shared/providers/dns/embedded.ts";
import { DnsEnvironment, dnsOf } from "../../../../shared/providers/dns/factory.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { testTable } from "../../../support/world.ts";

const table = testTable();
const dns = embeddedDns(table);
const nameservers = ["a.ns1.example.net", "a.ns2.example.net"];

const newName = (): string => `${randomBytes(8).toString("hex")}.example`;
const make = (name: string, reference = "domain-1") => dns.createZone({ name, reference, nameservers });

const apex = (name: string, hosts = nameservers): RRset => ({
  name,
  type: "NS",
  ttl: 86_400,
  data: hosts.map((host) => ({ type: "NS", host })),
});
const address = (name: string, address = "192.0.2.1"): RRset => ({
  name,
  type: "A",
  ttl: 300,
  data: [{ type: "A", address }],
});
const put = (...rrsets: RRset[]): ZoneChange[] => rrsets.map((rrset) => ({ put: rrset }));
const many = (name: string, count: number): RRset[] =>
  Array.from({ length: count }, (_, n) => address(`h${n}.${name}`, `10.0.${n >> 8}.${n & 255}`));

const byName = (rrsets: readonly RRset[] = []): RRset[] =>
  rrsets.toSorted((a, b) => `${a.name} ${a.type}`.localeCompare(`${b.name} ${b.type}`));
const rrsetsAt = async (name: string): Promise<RRset[]> => byName((await zoneAt(table, name))?.rrsets);

test("a new zone has its nameservers at its apex, and can be read by any process with the same table", async () => {
  const name = newName();
  await make(name);
  expect(await zoneAt(testTable(), name)).toEqual({ name, serial: 1, rrsets: [apex(name)] });
});

test("`createZone` with the same reference returns the same zone, and sets the new nameservers", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  await dns.changeZone(zoneId, put(address(name)));
  const again = await dns.createZone({ name, reference: "domain-1", nameservers: ["b.ns1.example.net"] });
  expect(again).toEqual({ zoneId });
  expect(await rrsetsAt(name)).toEqual(byName([apex(name, ["b.ns1.example.net"]), address(name)]));
});

test("if many create a zone of one name at once, one reference gets the zone, and the other gets `ZoneExists`", async () => {
  const name = newName();
  const made = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((n) => make(name, `domain-${n % 2}`)));
  const ids = made.flatMap((one) => (one.status === "fulfilled" ? [one.value.zoneId] : []));
  const errors = made.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  expect([new Set(ids).size, ids.length]).toEqual([1, 3]);
  for (const error of errors) expect(error).toBeInstanceOf(ZoneExists);
});

test("records of many types are stored unchanged", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const rrsets: RRset[] = [
    address(`*.${name}`),
    { name, type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2001:db8::1" }] },
    { name: `www.${name}`, type: "CNAME", ttl: 60, data: [{ type: "CNAME", host: name }] },
    { name, type: "MX", ttl: 60, data: [{ type: "MX", priority: 10, host: "mx.example.net" }] },
    {
      name,
      type: "TXT",
      ttl: 60,
      data: [
        { type: "TXT", text: 'é "\\\u0000' },
        { type: "TXT", text: "x".repeat(2_048) },
      ],
    },
    {
      name: `_sip._tcp.${name}`,
      type: "SRV",
      ttl: 60,
      data: [{ type: "SRV", priority: 1, weight: 2, port: 3, host: "a.test" }],
    },
    { name, type: "CAA", ttl: 60, data: [{ type: "CAA", flags: 128, tag: "issue", value: "ca.example" }] },
    { name: `_443._tcp.${name}`, type: "TLSA", ttl: 60, data: [{ type: "TLSA", value: "3 1 1 00ff" }] },
    { name, type: "HTTPS", ttl: 60, data: [{ type: "HTTPS", priority: 1, host: "", params: "alpn=h2" }] },
    { name: `sub.${name}`, type: "NS", ttl: 60, data: [{ type: "NS", host: "ns.example.net" }] },
  ];
  const { changeId, isInSync } = await dns.changeZone(zoneId, put(...rrsets));
  expect([isInSync, await dns.isInSync(changeId)]).toEqual([true, true]);
  expect(await rrsetsAt(name)).toEqual(byName([apex(name), ...rrsets]));
});

test("200 RRsets can be changed together, and the same change again writes nothing", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  await dns.changeZone(zoneId, put(...many(name, 100)));
  const changes = [
    ...many(name, 100).map((rrset) => ({ remove: { name: rrset.name, type: rrset.type } })),
    ...put(...many(`b.${name}`, 100)),
  ];
  await dns.changeZone(zoneId, changes);
  expect(await rrsetsAt(name)).toEqual(byName([apex(name), ...many(`b.${name}`, 100)]));
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  await embeddedDns(testTable(usage)).changeZone(zoneId, changes);
  expect(usage.writeUnits).toBe(0);
  expect(await rrsetsAt(name)).toHaveLength(101);
});

test("the serial can change with the records or alone, and an unchanged serial writes nothing", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const soa = { zone: name, nameserver: "a.ns1.example.net", serial: 7 };
  const serial = async () => (await zoneAt(table, name))?.serial;
  await dns.changeZone(zoneId, put(address(name)), soa);
  expect(await serial()).toBe(7);
  await dns.changeZone(zoneId, put(address(name, "192.0.2.2")));
  expect(await serial()).toBe(7);
  await dns.changeZone(zoneId, put(address(name, "192.0.2.2")), { ...soa, serial: 8 });
  expect(await serial()).toBe(8);
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  await embeddedDns(testTable(usage)).changeZone(zoneId, put(address(name, "192.0.2.2")), { ...soa, serial: 8 });
  expect(usage.writeUnits).toBe(0);
});

test("a change that is refused changes nothing", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const cname: RRset = { name: `www.${name}`, type: "CNAME", ttl: 60, data: [{ type: "CNAME", host: name }] };
  const refused: [ZoneChange, string][] = [
    [{ put: address(`${name}.net`) }, "not in the zone"],
    [{ put: address(`x${name}`) }, "not in the zone"],
    [{ put: { ...cname, name } }, "a CNAME record, so it can have no other records"],
    [{ remove: { name, type: "NS" } }, "cannot be removed"],
  ];
  for (const [change, message] of refused) {
    await expect(dns.changeZone(zoneId, [...put(...many(name, 20)), change])).rejects.toThrow(message);
  }
  await dns.changeZone(zoneId, put(cname));
  await expect(dns.changeZone(zoneId, put(address(cname.name)))).rejects.toThrow(
    "a CNAME record, so it can have no other records",
  );
  await dns.changeZone(zoneId, [...put(address(cname.name)), { remove: { name: cname.name, type: "CNAME" } }]);
  expect(await rrsetsAt(name)).toEqual(byName([apex(name), address(cname.name)]));
});

test("changes of one name that are made at the same time are all made", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const rrsets: RRset[] = [
    address(name),
    { name, type: "AAAA", ttl: 60, data: [{ type: "AAAA", address: "2001:db8::1" }] },
    { name, type: "MX", ttl: 60, data: [{ type: "MX", priority: 10, host: "mx.example.net" }] },
    { name, type: "TXT", ttl: 60, data: [{ type: "TXT", text: "a" }] },
    { name, type: "CAA", ttl: 60, data: [{ type: "CAA", flags: 0, tag: "issue", value: ";" }] },
  ];
  await Promise.all(rrsets.map((rrset) => dns.changeZone(zoneId, put(rrset))));
  expect(await rrsetsAt(name)).toEqual(byName([apex(name), ...rrsets]));
});

test("changes of many names that are made at the same time are all made", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  await Promise.all(many(name, 12).map((rrset) => dns.changeZone(zoneId, put(rrset))));
  await Promise.all(many(name, 6).map((rrset) => dns.changeZone(zoneId, [{ remove: rrset }])));
  expect(await rrsetsAt(name)).toEqual(byName([apex(name), ...many(name, 12).slice(6)]));
});

test("a zone of a thousand RRsets is deleted at once, for good; deleting a missing zone does nothing", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const all = many(name, 1_000);
  for (let from = 0; from < all.length; from += 200) await dns.changeZone(zoneId, put(...all.slice(from, from + 200)));
  expect(await rrsetsAt(name)).toHaveLength(1_001);
  await dns.deleteZone(zoneId);
  expect(await zoneAt(table, name)).toBeUndefined();
  await expect(dns.changeZone(zoneId, put(address(name)))).rejects.toThrow("The zone does not exist");
  await dns.deleteZone(zoneId);
  const later = await make(name, "domain-2");
  await dns.deleteZone(zoneId);
  expect(later.zoneId).not.toBe(zoneId);
  expect(await rrsetsAt(name)).toEqual([apex(name)]);
});

test("records that are put while a zone is deleted are not in the next zone of the name", async () => {
  const name = newName();
  const { zoneId } = await make(name);
  const changes = many(name, 10).map((rrset) => dns.changeZone(zoneId, put(rrset)));
  await Promise.allSettled([dns.deleteZone(zoneId), ...changes]);
  await make(name, "domain-2");
  expect(await rrsetsAt(name)).toEqual([apex(name)]);
});

test.each(["", "example.com", ":", "example.com:0123456789abcdef"])("%j is no zone's id", async (zoneId) => {
  await expect(dns.changeZone(zoneId, put(address("example.com")))).rejects.toThrow("The zone does not exist");
  await dns.deleteZone(zoneId);
});

test("a name is in the closest zone around it", async () => {
  const name = newName();
  await make(name);
  await make(`b.${name}`);
  const zoneOf = async (asked: string): Promise<string | undefined> => (await zoneAt(table, asked))?.name;
  expect(await zoneOf(`a.${name}`)).toBe(name);
  expect(await zoneOf(`b.${name}`)).toBe(`b.${name}`);
  expect(await zoneOf(`c.a.b.${name}`)).toBe(`b.${name}`);
  expect(await zoneOf(`xb.${name}`)).toBe(name);
  expect(await zoneOf(`${"a.".repeat(110)}${name}`)).toBe(name);
  expect(await zoneOf(`x${name}`)).toBeUndefined();
  const { zoneId } = await make(`b.${name}`);
  await dns.deleteZone(zoneId);
  expect(await zoneOf(`c.a.b.${name}`)).toBe(name);
});

test("a zone that is deleted while its records are read is not returned", async () => {
  const name = newName();
  await make(name);
  const { zoneId } = await make(`b.${name}`);
  const slow: Table = {
    ...table,
    getMany: async (keys) => {
      const items = await table.getMany(keys);
      await dns.deleteZone(zoneId);
      return items;
    },
  };
  expect((await zoneAt(slow, `a.b.${name}`))?.name).toBe(name);
});

test.each(["", ".", "..", "#", "\u0000\uffff", "x".repeat(255), "com"])("%j is in no zone", async (name) => {
  expect(await zoneAt(table, name)).toBeUndefined();
});

test("without configuration each use is a 409 that names the feature", async () => {
  const none = dnsOf(DnsEnvironment.parse({}))(table);
  for (const use of [none.isInSync("a"), none.deleteZone("a"), none.changeZone("a", [])]) {
    await expect(use).rejects.toMatchObject({ status: 409, code: "dns_unavailable" });
  }
});

test("`DNS_PROVIDER` selects the provider, and an unknown provider is refused", async () => {
  const name = newName();
  const chosen = dnsOf(DnsEnvironment.parse({ DNS_PROVIDER: "embedded" }))(table);
  const { zoneId } = await chosen.createZone({ name, reference: "domain-1", nameservers });
  expect(await make(name)).toEqual({ zoneId });
  expect(() => DnsEnvironment.parse({ DNS_PROVIDER: "bind" })).toThrow();
});
