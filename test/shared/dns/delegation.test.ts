import { type Answer, type Packet, AUTHORITATIVE_ANSWER } from "dns-packet";
import { expect, test } from "vitest";

import { registryZones } from "../../../infra/local/dns/dns.ts";
import { openResolver } from "../../../shared/dns/resolver.ts";
import {
  a,
  cname,
  delegated,
  dnsNetwork,
  internet,
  ns,
  record,
  responseTo,
  serving,
  txt,
} from "../../support/dns-network.ts";

const name = "example.test";

test("the resolver takes a delegation from the registry, and asks none of the domain's nameservers", async () => {
  const net = await internet();
  const child = await net.add(serving({ name, rrsets: [ns(name, "ns9.example.test")] }));
  net.registered.push(...delegated(name, child, { address: "8.8.0.99" }));
  const answer = await net.open().delegation(name);
  expect(answer).toEqual({ status: "delegated", nameservers: ["ns1.example.test", "ns2.example.test"] });
  expect(child.asked).toEqual([]);
});

test("the resolver asks the registry for each delegation, and the root only for the first", async () => {
  const net = await internet(ns(name, "ns1.hosts.test"));
  const resolver = net.open();
  await resolver.delegation(name);
  await resolver.delegation(name);
  expect(net.root.asked).toEqual(["example.test NS"]);
  expect(net.registry.asked).toEqual(["example.test NS", "example.test NS"]);
});

test("the resolver returns the nameservers in lower case, sorted, each once", async () => {
  const net = await internet();
  const registry = await net.addAsLiked({
    udp: (query, send) => {
      const hosts = ["NS2.Hosts.test", "ns1.hosts.TEST", "ns2.hosts.test", ".", "n\u00fc.test"];
      send(responseTo(query, { flags: 0, authorities: hosts.map((host) => record("EXAMPLE.test", "NS", host)) }));
    },
  });
  const resolver = openResolver({ roots: [registry.endpoint] });
  expect(await resolver.delegation("Example.Test.")).toEqual({
    status: "delegated",
    nameservers: ["ns1.hosts.test", "ns2.hosts.test"],
  });
});

test("the resolver returns a changed delegation at once", async () => {
  const net = await internet(ns(name, "old.hosts.test"));
  const resolver = net.open();
  await resolver.delegation(name);
  // The first registered RRset is the registry's own.
  net.registered.splice(1, 1, ns(name, "new.hosts.test"));
  expect(await resolver.delegation(name)).toEqual({ status: "delegated", nameservers: ["new.hosts.test"] });
});

test("the resolver asks the root again for the delegation of a top-level domain in its cache", async () => {
  const net = await internet(a(name, "192.0.2.1"));
  const resolver = net.open();
  await resolver.resolve(name, "A");
  expect(await resolver.delegation("test")).toEqual({ status: "delegated", nameservers: ["a.nic.test"] });
  expect(net.root.asked).toEqual(["example.test A", "test NS"]);
});

test("the resolver accepts the answer of a server that has the zone of the registry and the zone of the domain", async () => {
  const net = await internet();
  const both = await net.add(
    serving({ name: "test", rrsets: [] }, { name, rrsets: [ns(name, "ns2.hosts.test", "ns1.hosts.test")] }),
  );
  const resolver = openResolver({ roots: [both.endpoint], route: net.route });
  expect(await resolver.delegation(name)).toEqual({
    status: "delegated",
    nameservers: ["ns1.hosts.test", "ns2.hosts.test"],
  });
});

test("the resolver asks a domain's nameservers about a name below the domain", async () => {
  const net = await internet();
  const parent = await net.add(
    serving({
      name,
      rrsets: [ns(name, "ns1.example.test"), ns("sub.example.test", "ns.sub.test"), txt(`a.${name}`, "x")],
    }),
  );
  net.registered.push(...delegated(name, parent));
  const resolver = net.open();
  const answers = ["sub", "a", "b"].map((label) => resolver.delegation(`${label}.${name}`));
  expect(await Promise.all(answers)).toEqual([
    { status: "delegated", nameservers: ["ns.sub.test"] },
    { status: "none" },
    { status: "absent" },
  ]);
});

test("the resolver tells apart a name in the registry's own zone and a name that does not exist", async () => {
  const net = await internet(txt("held.test", "reserved"), cname("alias.test", "held.test"));
  const resolver = net.open();
  expect(await resolver.delegation("held.test")).toEqual({ status: "none" });
  expect(await resolver.delegation("alias.test")).toEqual({ status: "none" });
  expect(await resolver.delegation("nic.test")).toEqual({ status: "none" });
  expect(await resolver.delegation("free.test")).toEqual({ status: "absent" });
  expect(await resolver.delegation("free.nosuchtld")).toEqual({ status: "absent" });
});

const claimed = (asked: string): { answers: Answer[] } => ({ answers: [record(asked, "NS", "ns.attacker.test")] });
test.each<[string, (asked: string) => Packet]>([
  ["the answer has no authority", (asked) => ({ ...claimed(asked), flags: 0 })],
  ["the server fails", () => ({ flags: 2 })],
  ["the server refuses", () => ({ flags: 5 })],
  ["it denies the name without authority", () => ({ flags: 3 })],
  ["it denies the name and also answers", (asked) => ({ ...claimed(asked), flags: AUTHORITATIVE_ANSWER | 3 })],
  [
    "the referral is for another name",
    () => ({ flags: 0, authorities: [record("other.test", "NS", "ns.attacker.test")] }),
  ],
  [
    "the referral is for a name below",
    (asked) => ({ flags: 0, authorities: [record(`a.${asked}`, "NS", "ns.attacker.test")] }),
  ],
  ["the referral has no nameserver", (asked) => ({ flags: 0, authorities: [record(asked, "NS", ".")] })],
  ["the nameservers are beside the answer", (asked) => ({ flags: 0, additionals: claimed(asked).answers })],
])("the resolver does not use an answer if %s, and asks the next server of the registry", async (_what, packet) => {
  const network = dnsNetwork();
  const bad = await network.addAsLiked({
    udp: (query, send) => send(responseTo(query, packet(query.questions?.[0]?.name ?? ""))),
  });
  const good = await network.add(serving({ name: "test", rrsets: [ns(name, "ns1.hosts.test")] }));
  const root = await network.add(
    serving({
      name: "",
      rrsets: [
        ns("test", "bad.test", "good.test"),
        ns("lost", "bad.test"),
        a("bad.test", bad.address),
        a("good.test", good.address),
      ],
    }),
  );
  const resolver = openResolver({ roots: [root.endpoint], route: network.route, tryTimeoutMs: 2_000 });
  expect(await resolver.delegation(name)).toEqual({ status: "delegated", nameservers: ["ns1.hosts.test"] });
  expect(await resolver.delegation("example.lost")).toMatchObject({ status: "unknown" });
  expect(bad.asked.length).toBeGreaterThan(1);
});

test("the resolver says which zone's servers did not answer", async () => {
  const network = dnsNetwork();
  const root = await network.addAsLiked({});
  const resolver = openResolver({ roots: [root.endpoint], tryTimeoutMs: 200 });
  expect(await resolver.delegation(name)).toEqual({
    status: "unknown",
    reason: "the nameservers of the root do not answer",
  });
});

test("the resolver finds a domain of the local registry, and its records on a nameserver of this machine", async () => {
  const network = dnsNetwork();
  const registered = new Map([[name, ["a1.ns1.mail.test", "a1.ns2.mail.test"]]]);
  const registries = await network.add(registryZones({ delegationOf: async (asked) => registered.get(asked) }));
  const hosting = await network.add(serving({ name, rrsets: [txt(name, "hello")] }));
  const resolver = openResolver({
    roots: [registries.endpoint],
    known: ["ns1.mail.test", "ns2.mail.test"].map((suffix) => ({ suffix, endpoint: hosting.endpoint })),
    route: network.route,
  });
  expect(await resolver.delegation(name)).toEqual({
    status: "delegated",
    nameservers: ["a1.ns1.mail.test", "a1.ns2.mail.test"],
  });
  expect(await resolver.resolve(name, "TXT")).toMatchObject({ records: [{ text: "hello" }] });
  expect(await resolver.delegation("free.test")).toEqual({ status: "absent" });
  expect(network.routed).toEqual([]);
  expect([registries.asked.length, hosting.asked.length]).toEqual([3, 1]);
});
