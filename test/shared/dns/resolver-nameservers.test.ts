import { expect, test } from "vitest";

import { a, delegated, internet, ns, serving } from "../../support/dns-network.ts";
import { apex, withExample } from "./resolver-scene.ts";

test("the resolver looks up the IPv4 address of a nameserver in another zone, and its IPv6 address if it has no IPv4 address", async () => {
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

test("the resolver asks a nameserver with a known suffix at its configured address, and ignores its glue", async () => {
  const net = await internet();
  const ours = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.1")] }));
  const glue = a("x.ns1.ours.test", "8.8.0.99");
  net.registered.push(ns("example.test", "x.ns1.ours.test", "x.ns2.ours.test"), glue);
  const resolver = net.open({ known: [{ suffix: "Ours.Test.", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(net.routed).toEqual([net.registry.address]);
  expect(ours.asked.length).toBe(1);
});

test("the resolver asks an address once, even if several nameservers have this address", async () => {
  const net = await internet(ns("example.test", "a.ours.test", "b.ours.test", "c.ours.test"));
  const ours = await net.add(serving({ name: "other.test", rrsets: [] }));
  const resolver = net.open({ known: [{ suffix: "ours.test", endpoint: ours.endpoint }] });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  expect(ours.asked.length).toBe(1);
});

test("the resolver refuses the root as a known suffix of nameservers", async () => {
  const net = await internet();
  expect(() => net.open({ known: [{ suffix: ".", endpoint: net.root.endpoint }] })).toThrow("not a suffix");
});

test("the resolver caches the servers of a top-level domain for at most an hour", async () => {
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

test("the resolver asks the new nameservers of a domain at once", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  const resolver = net.open();
  await resolver.resolve("example.test", "A");
  const next = await net.add(serving({ name: "example.test", rrsets: [apex, a("example.test", "192.0.2.2")] }));
  net.registered.splice(-2, 2, ...delegated("example.test", next));
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ records: [{ address: "192.0.2.2" }] });
});

test("the resolver asks the root again if the cached servers of a top-level domain do not answer", async () => {
  const net = await withExample(a("example.test", "192.0.2.1"));
  let isUnreachable = true;
  const resolver = net.open({
    route: (address) => (isUnreachable ? { address: "127.0.0.1", port: 1 } : net.route(address)),
  });
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "unknown" });
  isUnreachable = false;
  expect(await resolver.resolve("example.test", "A")).toMatchObject({ status: "found" });
  expect(net.root.asked.length).toBe(2);
});
