import { beforeEach, expect, test } from "vitest";

import { Problem } from "../../../../shared/core/errors.ts";
import type { ZoneChange } from "../../../../shared/providers/dns/dns.ts";
import { stubAws } from "../../../support/aws.ts";
import { a } from "../../../support/dns-network.ts";
import { thrownBy } from "../../../support/thrown.ts";
import { fault, invalidBatch } from "../route53-service.ts";
import { callsOf, many, namesIn, zoneScene } from "./route53-scene.ts";

beforeEach(() => stubAws("us-east-1"));

test("a change is one batch, removals before additions, and the last change of an RRset counts", async () => {
  const one = await zoneScene({
    name: "www.example.com",
    type: "CNAME",
    ttl: 60,
    data: [{ type: "CNAME", host: "a.test" }],
  });
  const changed = await one.dns.changeZone(one.zoneId, [
    { put: a("www.example.com", "192.0.2.9") },
    { put: a("www.example.com", "192.0.2.1", "192.0.2.2") },
    { put: { name: "*.example.com", type: "TXT", ttl: 60, data: [{ type: "TXT", text: 'é <"&>' }] } },
    { remove: { name: "www.example.com", type: "CNAME" } },
  ]);
  expect(changed).toEqual({ changeId: "C4", isInSync: false });
  const set = (name: string, type: string, ttl: number, ...values: string[]) =>
    `<ResourceRecordSet><Name>${name}</Name><Type>${type}</Type><TTL>${ttl}</TTL><ResourceRecords>` +
    values.map((value) => `<ResourceRecord><Value>${value}</Value></ResourceRecord>`).join("") +
    "</ResourceRecords></ResourceRecordSet>";
  expect(one.recorded.at(-1)?.body).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>' +
      '<ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes>' +
      `<Change><Action>DELETE</Action>${set("www.example.com.", "CNAME", 60, "a.test.")}</Change>` +
      `<Change><Action>UPSERT</Action>${set("www.example.com.", "A", 300, "192.0.2.1", "192.0.2.2")}</Change>` +
      `<Change><Action>UPSERT</Action>${set("*.example.com.", "TXT", 60, "&quot;\\303\\251 &lt;\\042&amp;&gt;&quot;")}</Change>` +
      "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>",
  );
  expect(callsOf(one)).toEqual(["GET hostedzone/Z1/rrset", "POST hostedzone/Z1/rrset"]);
});

test("the SOA is put in the same batch, with its serial", async () => {
  const one = await zoneScene();
  const soa = { zone: "example.com", nameserver: "a.ns1.example.net", serial: 1_772_600_767 };
  await one.dns.changeZone(one.zoneId, [{ put: a("a.example.com", "192.0.2.1") }], soa);
  const sets = one.zones.get(one.zoneId)?.sets ?? [];
  expect(sets.filter(({ type }) => type === "SOA")).toMatchObject([
    { ttl: 300, values: ["a.ns1.example.net. hostmaster.example.com. 1772600767 7200 900 1209600 300"] },
  ]);
  expect(callsOf(one)).toEqual(["POST hostedzone/Z1/rrset"]);
});

test("a record that is too long for Route 53 is left out and reported, and the other records of its name are written", async () => {
  const one = await zoneScene();
  const [long, short] = ["é".repeat(1_000), "v=spf1 -all"].map((text) => ({ type: "TXT" as const, text }));
  if (!long || !short) throw new Error("two texts are made");
  const put = (name: string, ...data: (typeof long)[]) => ({ put: { name, type: "TXT" as const, ttl: 60, data } });
  const { refused } = await one.dns.changeZone(one.zoneId, [
    put("both.example.com", long, short),
    put("long.example.com", long),
    put("short.example.com", short),
  ]);
  expect(refused?.map(({ name }) => name)).toEqual(["both.example.com", "long.example.com"]);
  const sent = one.recorded.at(-1)?.body ?? "";
  expect([...sent.matchAll(/<Name>(\w+)\./g)].map(([, name]) => name)).toEqual(["both", "short"]);
  expect(sent).not.toContain("303");
});

test("existing RRsets are removed, even a wildcard; a change without an effect is not sent, and counts as in sync", async () => {
  const one = await zoneScene(a("*.example.com", "192.0.2.1"), a("z.example.com", "192.0.2.1"));
  const wildcard = { remove: { name: "*.example.com", type: "A" } } as const;
  await one.dns.changeZone(one.zoneId, [wildcard, { remove: { name: "y.example.com", type: "A" } }]);
  expect(namesIn(one, one.zoneId).slice(2)).toEqual(["A z.example.com."]);
  one.recorded.length = 0;
  const again = await one.dns.changeZone(one.zoneId, [wildcard, { remove: { name: "z.example.com", type: "MX" } }]);
  expect(again.isInSync).toBe(true);
  expect(await one.dns.isInSync(again.changeId)).toBe(true);
  expect(callsOf(one)).toEqual(["GET hostedzone/Z1/rrset", "GET hostedzone/Z1/rrset"]);
});

test("for many removals the zone is read once, in pages", async () => {
  const one = await zoneScene(...many(320));
  const removals = many(320).map(({ name, type }) => ({ remove: { name, type } }));
  await one.dns.changeZone(one.zoneId, [...removals, { remove: { name: "nothing.example.com", type: "A" } }]);
  expect(namesIn(one, one.zoneId)).toEqual(["NS example.com.", "SOA example.com."].toSorted());
  expect(callsOf(one)).toEqual([...Array(2).fill("GET hostedzone/Z1/rrset"), "POST hostedzone/Z1/rrset"]);
});

test("RRsets that have changed since they were read are read again, but only once", async () => {
  const removal = [{ remove: { name: "a.example.com", type: "A" } }] as const;
  const one = await zoneScene(a("a.example.com", "192.0.2.1"));
  const meddle = (value: string) => (): void => {
    for (const set of one.zones.get(one.zoneId)?.sets ?? []) if (set.type === "A") set.values = [value];
  };
  one.troubles.push(() => undefined, meddle("192.0.2.2"));
  await one.dns.changeZone(one.zoneId, removal);
  expect(namesIn(one, one.zoneId)).toHaveLength(2);
  await one.dns.changeZone(one.zoneId, [{ put: a("a.example.com", "192.0.2.1") }]);
  one.recorded.length = 0;
  one.troubles.push(
    () => undefined,
    meddle("192.0.2.3"),
    () => undefined,
    meddle("192.0.2.4"),
  );
  expect(await thrownBy(one.dns.changeZone(one.zoneId, removal))).toMatchObject({ name: "InvalidChangeBatch" });
  expect(one.recorded).toHaveLength(4);
});

test("a removal whose answer was lost counts as done, for both errors of Route 53 about a missing RRset", async () => {
  const one = await zoneScene(a("a.example.com", "192.0.2.1"), a("b.example.com", "192.0.2.1"));
  const removal = (name: string) => ({ remove: { name, type: "A" as const } });
  one.troubles.push(() => undefined, "lost");
  await one.dns.changeZone(one.zoneId, [removal("a.example.com")]);
  one.troubles.push(() => undefined, "lost", invalidBatch("Tried to delete"));
  await one.dns.changeZone(one.zoneId, [removal("b.example.com"), { put: a("c.example.com", "192.0.2.1") }]);
  expect(namesIn(one, one.zoneId).slice(2)).toEqual(["A c.example.com."]);
});

test("a batch that is refused for its content is an Error, and not sent again", async () => {
  const one = await zoneScene();
  one.troubles.push(fault("InvalidChangeBatch"));
  const error = await thrownBy(one.dns.changeZone(one.zoneId, [{ put: a("a.example.com", "192.0.2.1") }]));
  expect(error).toMatchObject({ name: "InvalidChangeBatch" });
  expect(error).not.toBeInstanceOf(Problem);
  expect(one.recorded).toHaveLength(1);
});

test("changes that do not fit in one request take several, with the removals in the first and the SOA in the last", async () => {
  const one = await zoneScene(a("gone.example.com", "192.0.2.1"));
  const text = (name: string, length: number) => ({
    put: { name, type: "TXT" as const, ttl: 60, data: [{ type: "TXT" as const, text: "x".repeat(length) }] },
  });
  const calls = async (...changes: ZoneChange[]) => {
    one.recorded.length = 0;
    const soa = { zone: "example.com", nameserver: "ns1.example.net", serial: 7 };
    const { refused } = await one.dns.changeZone(one.zoneId, changes, soa);
    expect(refused).toBe(undefined);
    return one.recorded.filter(({ method }) => method === "POST").map(({ body }) => body);
  };
  expect(await calls(...many(200).map(({ name }) => text(name, 70)))).toHaveLength(1);
  const removal = { remove: { name: "gone.example.com", type: "A" as const } };
  const [first, second, ...others] = await calls(...many(5).map(({ name }) => text(name, 3_300)), removal);
  expect([first?.includes("DELETE"), first?.includes("SOA")]).toEqual([true, false]);
  expect([second?.includes("DELETE"), second?.includes("SOA"), others]).toEqual([false, true, []]);
});

test("an RRset gets as many records as Route 53 allows, and an RRset with more records is reported", async () => {
  const one = await zoneScene();
  const crowd = Array.from({ length: 401 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
  const texts = Array.from({ length: 6 }, (_, n) => ({ type: "TXT" as const, text: String(n).repeat(3_300) }));
  const { refused } = await one.dns.changeZone(one.zoneId, [
    { put: a("a.example.com", ...crowd) },
    { put: { name: "b.example.com", type: "TXT", ttl: 60, data: texts } },
  ]);
  expect(refused?.map(({ name }) => name)).toEqual(["a.example.com", "b.example.com"]);
  const sets = one.zones.get(one.zoneId)?.sets.slice(2) ?? [];
  expect(sets.map(({ name, values }) => [name, values.length])).toEqual([
    ["a.example.com.", 400],
    ["b.example.com.", 4],
  ]);
});

test("a change is in sync once Route 53 says so, or has forgotten it", async () => {
  const { dns, zoneId, changes } = await zoneScene();
  const { changeId } = await dns.changeZone(zoneId, [{ put: a("a.example.com", "192.0.2.1") }]);
  expect(await dns.isInSync(changeId)).toBe(false);
  changes.set(changeId, "INSYNC");
  expect(await dns.isInSync(changeId)).toBe(true);
  changes.delete(changeId);
  expect(await dns.isInSync(changeId)).toBe(true);
});
